/** Written by `npm run generate` from docs/openapi.json. */
export interface components {
    schemas: {
        AccountCredential: {
            /** @description The credential */
            id: string;
            /** @description client or api_key */
            kind: string;
            /** @description What it may do */
            scopes: string[];
            /** @description When it was created, UTC */
            created_at: string;
            /** @description When it expires, UTC; null: never */
            expires_at: string | null;
            /** @description When it was revoked, UTC; null while it is valid */
            revoked_at: string | null;
            /** @description The credential that a rotation made; null where there was none */
            replaced_by: string | null;
            /** @description What it may propose, by currency; empty: any amount */
            budgets: components["schemas"]["CredentialBudget"][];
        };
        AccountLimit: {
            /** @description The name of the limit */
            name: string;
            /** @description What it limits: payout, account or corridor */
            per: string;
            /** @description The window */
            hours: number;
            /** @description Maximum number of payouts; null: no limit */
            count_max: string | null;
            /** @description Maximum in USD; null: no limit */
            usd_max: string | null;
            /** @description Only of this corridor; null: of all */
            corridor: string | null;
        };
        Approval: {
            /** @description The request */
            approval: string;
            /** @description The command */
            action: string;
            /** @description The operator who wants it */
            requested_by: string;
            /** @description Why */
            reason: string;
            /** @description When, UTC */
            requested_at: string;
            /** @description Until when a second operator can approve it, UTC */
            expires_at: string;
            /** @description What would be done */
            options: {
                [key: string]: unknown;
            };
        };
        ApprovalPolicy: {
            /** @description Each with `name`, `when`, `approvers`, `expires_hours` */
            rules: unknown[];
        } & {
            [key: string]: unknown;
        };
        ApprovalPolicyVersion: {
            /** @description From 1 on */
            version: number;
            /** @description Whether it is the present one */
            is_in_force: boolean;
            /** @description Whether it was changed past the service; it then holds every payout */
            is_forged: boolean;
            /** @description Rules and their examples, as docs/guides/approvals.md says */
            policy: components["schemas"]["ApprovalPolicy"];
            /** @description The operator who set it */
            set_by: string;
            /** @description Why */
            reason: string;
            /** @description When, UTC */
            set_at: string;
            /** @description When another one took its place, UTC */
            replaced_at: string | null;
        };
        ApprovalPreview: {
            /** @description Committed payouts of the time */
            payouts: number;
            /** @description Those that the rules would have held */
            held: number;
            /** @description Each rule by itself */
            rules: {
                /** @description The rule */
                name: string;
                /** @description Payouts that it would have held */
                held: number;
            }[];
            /** @description The newest, at most 20 */
            examples: {
                /** @description The payout */
                payout_token: string;
                /** @description The rules that would have held it */
                rules: string[];
            }[];
        };
        AuditEntry: {
            /** @description Its place in the log */
            sequence: string;
            /** @description The entry */
            id: string;
            /** @description When, UTC */
            created_at: string;
            /** @description operator, credential or system */
            actor_kind: string;
            /** @description Who; null for the system */
            actor_id: string | null;
            /** @description The name of the operator; "" for others */
            actor: string;
            /** @description The role of the operator at that time */
            role: string;
            /** @description The id of a client's credential; the key or session of an operator; "" for none */
            credential: string;
            /** @description Where the request came from */
            address: string;
            /** @description The command, or the operation */
            action: string;
            /** @description What it was about */
            object: {
                [key: string]: unknown;
            };
            /** @description The account; null where it was about none */
            account_id: string | null;
            /** @description Why */
            reason: string;
            /** @description Of the HTTP request, or of the entry before the command began */
            request_id: string;
            /** @description requested, waiting, done, refused or failed */
            outcome: string;
            /** @description The state before it; null where it is not recorded */
            before: unknown;
            /** @description The state after it; null where it is not recorded */
            after: unknown;
        };
        Backtest: {
            /** @description Committed payouts that were read */
            payouts: number;
            /** @description Those that could be compared */
            replayed: number;
            /** @description Those that could not */
            left_out: {
                /** @description Why */
                reason: string;
                /** @description So many */
                payouts: number;
                /** @description In words */
                detail: string;
            }[];
            /** @description Replayed payouts whose price, as it is, equals the one that was quoted */
            priced_as_quoted: number;
            /** @description Replayed payouts whose rate to USD was not stored */
            valued_at_present_rates: number;
            /** @description Charges left out because their currency has no rate */
            charges_without_rate: number;
            /** @description All replayed payouts */
            total: {
                /** @description As it is */
                before: components["schemas"]["BacktestSide"];
                /** @description With the changes */
                after: components["schemas"]["BacktestSide"];
            };
            /** @description The largest first */
            corridors: {
                /** @description Of the balance */
                source_currency: string;
                /** @description ISO 3166-1 alpha-3 */
                country: string;
                /** @description How it is delivered */
                delivery_type: string;
                /** @description Of the recipient */
                destination_currency: string;
                /** @description As it is */
                before: components["schemas"]["BacktestSide"];
                /** @description With the changes */
                after: components["schemas"]["BacktestSide"];
            }[];
            /** @description The largest first */
            rails: {
                /** @description The rail that takes it on each side */
                rail: string;
                /** @description As it is */
                before: components["schemas"]["BacktestSide"];
                /** @description With the changes */
                after: components["schemas"]["BacktestSide"];
            }[];
            /** @description Payouts that no payer takes */
            not_routed: {
                /** @description As it is */
                before: {
                    /** @description Why no payer takes it */
                    reason: string;
                    /** @description So many */
                    payouts: number;
                }[];
                /** @description With the changes */
                after: {
                    /** @description Why no payer takes it */
                    reason: string;
                    /** @description So many */
                    payouts: number;
                }[];
            };
            /** @description Routed as it is, and not with the changes */
            lost: number;
            /** @description Routed with the changes, and not as it is */
            admitted: number;
            /** @description Routed through another payer */
            moved: number;
            /** @description The most frequent, at most 100 */
            moves: {
                /** @description Rail and payer */
                from: string;
                /** @description Rail and payer */
                to: string;
                /** @description So many */
                payouts: number;
            }[];
            /** @description Payouts whose route differs */
            examples: {
                /** @description Routed through another payer, at most 20 */
                moved: {
                    /** @description The payout */
                    payout_token: string;
                    /** @description Rail and payer as it is; null: none */
                    before: string | null;
                    /** @description Rail and payer with the changes; null: none */
                    after: string | null;
                    /** @description Fee and margin */
                    before_cost_usd: string | null;
                    /** @description Fee and margin */
                    after_cost_usd: string | null;
                    /** @description Why one side has no payer; "" where both have one */
                    reason: string;
                }[];
                /** @description Routed as it is only, at most 20 */
                lost: {
                    /** @description The payout */
                    payout_token: string;
                    /** @description Rail and payer as it is; null: none */
                    before: string | null;
                    /** @description Rail and payer with the changes; null: none */
                    after: string | null;
                    /** @description Fee and margin */
                    before_cost_usd: string | null;
                    /** @description Fee and margin */
                    after_cost_usd: string | null;
                    /** @description Why one side has no payer; "" where both have one */
                    reason: string;
                }[];
                /** @description Routed with the changes only, at most 20 */
                admitted: {
                    /** @description The payout */
                    payout_token: string;
                    /** @description Rail and payer as it is; null: none */
                    before: string | null;
                    /** @description Rail and payer with the changes; null: none */
                    after: string | null;
                    /** @description Fee and margin */
                    before_cost_usd: string | null;
                    /** @description Fee and margin */
                    after_cost_usd: string | null;
                    /** @description Why one side has no payer; "" where both have one */
                    reason: string;
                }[];
            };
            /** @description The `cursor` of the rest; null where all payouts were read */
            next: string | null;
        };
        BacktestSide: {
            /** @description Payouts that a payer takes */
            payouts: number;
            /** @description Fees, at the rates of each payout */
            fee_usd: string;
            /** @description What exchange rates leave below the mid rate, with rounding */
            margin_usd: string;
            /** @description Fees and margin: what senders pay */
            cost_usd: string;
            /** @description What rails charged; of payouts that move, the mean of the new payer */
            charges_usd: string;
            /** @description Payouts through payers that reported no charge */
            payouts_without_charges: number;
            /** @description Fees and margin, less charges */
            earned_usd: string;
            /** @description From commit to the estimated arrival; 0 without payouts */
            mean_arrival_seconds: number;
            /** @description Payouts estimated to arrive within an hour */
            arrive_within_hour: number;
            /** @description Payouts estimated to arrive within 24 hours */
            arrive_within_day: number;
            /** @description Payouts that wait for a day with room */
            delayed_by_daily_limits: number;
            /** @description The sum of the measured failure rates of the payers */
            expected_failures: number;
            /** @description Payouts through payers with too few measured payouts */
            payouts_without_failure_rate: number;
        };
        BankEntry: {
            /** @description The entry of the bank */
            entry: string;
            /** @description The day of the booking */
            booked_on: string;
            /** @description Whether money came in or went out */
            direction: string;
            /** @description Decimal */
            amount: string;
            /** @description The currency */
            currency: string;
            /** @description The account at the bank */
            bank_account: string;
            /** @description References of payments in it */
            references: string[];
            /** @description The reference of the bank */
            bank_reference: string;
        };
        Clearance: {
            /** @description The clearance */
            clearance: string;
            /** @description The account */
            account: string;
            /** @description The recipient */
            user_token: string;
            /** @description List and number of the entry */
            entry: string;
            /** @description The primary name of the entry */
            entry_name: string;
            /**
             * @description `changed`: the entry says something else now, so that it holds payouts again
             * @enum {string}
             */
            state: "in_force" | "changed" | "expired" | "ended";
            /** @description Why; null where the data of the recipient was erased */
            reason: string | null;
            /** @description The operator who cleared it */
            cleared_by: string;
            /** @description When, UTC */
            cleared_at: string;
            /** @description Until when, UTC */
            until: string;
            /** @description Who ended it before its date */
            ended_by: string | null;
            /** @description When it was ended before its date, UTC */
            ended_at: string | null;
        };
        CredentialBudget: {
            /** @description Of the amounts */
            currency: string;
            /** @description The most that a proposal may debit, decimal; null: any */
            per_proposal: string | null;
            /** @description The most that confirmed proposals may debit in a day; null: any */
            per_day: string | null;
            /** @description How many proposals may be open */
            open_max: number;
        };
        DocumentFinding: {
            /**
             * @description `read`: all check digits hold. `partly_read`: those of number, birth and expiry do, another does not. `not_read`: no zone whose check digits hold
             * @enum {string}
             */
            result: "waiting" | "read" | "partly_read" | "not_read" | "failed" | "not_installed";
            /**
             * @description TD3: passports. TD1 and TD2: cards. "" if nothing was read
             * @enum {string}
             */
            format: "TD1" | "TD2" | "TD3" | "";
            /** @description How many preparations of the picture gave the same text */
            agreeing: number;
            /** @description The check digits of the zone. None protects the names and states, and none tells letters apart that are ten apart, as M and W */
            checks: {
                /**
                 * @description What the digit protects
                 * @enum {string}
                 */
                name: "document_number" | "birth_date" | "expiry_date" | "personal_number" | "composite";
                /** @description Whether it fits what was read */
                holds: boolean;
            }[];
            /** @description Null if nothing was read */
            fields: components["schemas"]["ReadDocument"] | null;
            /** @description The document and what the client has given about the user now */
            comparisons: {
                /**
                 * @description What is compared
                 * @enum {string}
                 */
                field: "surname" | "given_names" | "date_of_birth" | "document_number" | "issuing_state";
                /**
                 * @description `unknown`: one side says nothing about it
                 * @enum {string}
                 */
                result: "same" | "similar" | "different" | "unknown";
                /** @description As read */
                document: string;
                /** @description As the client gave it */
                user: string;
            }[];
        };
        ExchangeRate: {
            /** @description The currency that is priced */
            base: string;
            /** @description The currency of the price */
            quote: string;
            /** @description Units of `quote` for one `base`, decimal, without margin */
            rate: string;
            /** @description Where it comes from: ecb, crypto or table; in staging also the bundled table */
            source: string;
            /** @description The time of the rate, UTC */
            as_of: string;
            /** @description Until when it is used, UTC; null in staging, where none expires */
            expires_at: string | null;
            /** @description False: live refuses quotes that need it */
            is_usable: boolean;
        };
        FaceFinding: {
            /**
             * @description `waiting`: not compared yet. `failed`: the comparison failed five times
             * @enum {string}
             */
            result: "waiting" | "compared" | "not_compared" | "failed";
            /**
             * @description A band of the score, which does not decide; "" if not compared
             * @enum {string}
             */
            similarity: "high" | "medium" | "low" | "";
            /** @description From 0.00 to 1.00, where 1.00 is the same picture; "" if not compared */
            score: string;
            /**
             * @description Why the faces were not compared
             * @enum {string}
             */
            reason: "switched_off" | "not_installed" | "selfie_no_face" | "selfie_several_faces" | "selfie_too_small" | "document_no_face" | "document_several_faces" | "document_too_small" | "";
            /**
             * @description The score is for the person who decides
             * @constant
             */
            decides: false;
        };
        Freeze: {
            /** @description The freeze */
            id: string;
            /** @description sending, commits, account, recipient, corridor or rail */
            scope: string;
            /** @description The account */
            account_id?: string;
            /** @description The recipient */
            user_token?: string;
            /** @description Of the corridor */
            country?: string;
            /** @description Of the corridor */
            delivery_type?: string;
            /** @description Of the corridor */
            currency?: string;
            /** @description The rail */
            rail?: string;
            /** @description Why */
            reason: string;
            /** @description The operator */
            frozen_by: string;
            /** @description From when on, UTC */
            since: string;
            /** @description When it was lifted, UTC */
            lifted_at?: string;
            /** @description The operator who lifted it */
            lifted_by?: string;
            /** @description Why it was lifted */
            lift_reason?: string;
            /** @description Payouts that wait for its end */
            waiting: number;
        };
        IdentityFindings: {
            /** @description The verification session */
            session_id: string;
            /** @description The upload, counted from 1 */
            submission: number;
            /** @description What was read from the pictures of the document */
            document: components["schemas"]["DocumentFinding"];
            /** @description How alike the face and the portrait on the document are, by a model */
            face: components["schemas"]["FaceFinding"];
            /** @description The opinion of the configured provider; null without one */
            provider: components["schemas"]["ProviderFinding"] | null;
            /**
             * @description One still picture cannot show that a living person was in front of the camera
             * @constant
             */
            liveness: "not_checked";
        };
        IdentityImages: {
            /** @description The verification session */
            session_id: string;
            /** @description The upload */
            submission: number;
            /** @description Of the newest upload */
            images: {
                /** @description Which side of the document, or the face */
                type: string;
                /** @description image/jpeg */
                media_type: string;
                /** @description Base64 */
                content: string;
            }[];
        };
        LegalHold: {
            /** @description The hold */
            hold: string;
            /** @description The account */
            account: string;
            /** @description The recipient */
            user_token: string;
            /** @description Why */
            reason: string;
            /** @description The operator who placed it */
            placed_by: string;
            /** @description When it was placed, UTC */
            placed_at: string;
            /** @description Until when, UTC */
            until: string;
            /** @description Who ended it before its date; null if it was not ended early */
            ended_by: string | null;
            /** @description When it was ended before its date, UTC */
            ended_at: string | null;
        };
        OpenSettlement: {
            /** @description The journal of the settlement */
            settlement: string;
            /** @description The day of the booking */
            booked_on: string;
            /** @description Whether money came in or went out */
            direction: string;
            /** @description Decimal */
            amount: string;
            /** @description The currency */
            currency: string;
            /** @description The kind of the journal */
            kind: string;
            /** @description The account */
            account: string;
            /** @description The payout */
            payout_token: string;
            /** @description Of the instruction */
            reference: string;
            /** @description Of the rail */
            provider_reference: string;
        };
        Operator: {
            /** @description The identifier */
            operator: string;
            /** @description The name, unique forever */
            name: string;
            /** @description What the operator may do */
            role: string;
            /** @description When the operator was created, UTC */
            created_at: string;
            /** @description The present key, as the audit log names it */
            key: string;
            /** @description When the present key was made, UTC */
            key_created_at: string;
            /** @description When the operator was revoked, UTC; null while it may act */
            revoked_at: string | null;
            /** @description False: the row was changed past the service and does not authenticate */
            is_genuine: boolean;
        };
        OperatorAccount: {
            /** @description The account */
            id: string;
            /** @description Its name */
            name: string;
            /** @description When it was created, UTC */
            created_at: string;
        };
        OperatorException: {
            /** @description The account */
            account_id: string;
            /** @description The exception */
            id: string;
            /** @description The payout; "" where it belongs to none */
            payout_token: string;
            /** @description Of the payout as it is now: `payout decide` takes it back, and refuses where the payout has changed since; "" where it belongs to none */
            payout_version: string;
            /** @description The recipient of the payout; "" where it belongs to none */
            user_token: string;
            /** @description The rail */
            rail: string;
            /** @description What it is about */
            kind: string;
            /** @description What happened */
            detail: string;
            /** @description Decimal; null where it is about no amount */
            amount: string | null;
            /** @description Of the amount */
            currency: string | null;
            /** @description When it was opened, UTC */
            opened_at: string;
            /** @description When it was closed, UTC; null while it is open */
            closed_at: string | null;
            /** @description How it was closed; "" while it is open */
            resolution: string;
            /** @description Of an approval: so many persons must release it; else null */
            approvers: number | null;
            /** @description Of an approval: when the payout is canceled without it, UTC */
            expires_at: string | null;
            /** @description Decisions about its payout while it was open */
            decisions: components["schemas"]["OperatorPayoutDecision"][];
        };
        OperatorIdentity: {
            /** @description The account */
            account: string;
            /** @description Verification sessions, newest first */
            sessions: {
                [key: string]: unknown;
            }[];
            /** @description Decisions with their reasons, newest first */
            decisions: {
                [key: string]: unknown;
            }[];
            /** @description What was read, by upload, newest first */
            findings: components["schemas"]["IdentityFindings"][];
        };
        OperatorPayoutDecision: {
            /** @description When, UTC */
            decided_at: string;
            /** @description What was decided */
            action: string;
            /** @description The operator */
            decided_by: string;
            /** @description Why */
            reason: string;
            /** @description False: it waited for a second operator */
            is_effective: boolean;
        };
        OperatorPendingIdentity: {
            /** @description The account */
            account: string;
            /** @description The recipient */
            user_token: string;
            /** @description The verification session */
            session_id: string;
            /** @description Who verifies */
            provider: string;
            /** @description Of the session */
            status: string;
            /** @description The number of uploads so far */
            submission: number;
            /** @description When it began, UTC */
            created_at: string;
            /** @description When it last changed, UTC */
            updated_at: string;
            /** @description Decisions that wait for a second operator */
            decisions: {
                [key: string]: unknown;
            }[];
        };
        OperatorPolicy: {
            /** @description What it is about */
            action: string;
            /** @description How many operators are needed: 1 or 2 */
            persons: number;
            /** @description Two are needed from just above this many whole USD */
            above_usd: string;
        };
        OperatorRail: {
            /** @description The name of the rail */
            rail: string;
            /** @description As this process has seen its last calls; null where it sends no payouts */
            health: ("up" | "degraded" | "down") | null;
            /** @description Whether an operator has stopped it */
            is_frozen: boolean;
            /** @description Payouts that are being sent */
            being_sent: number;
            /** @description Payouts whose outcome is awaited */
            handed_over: number;
            /** @description Payouts that wait to be sent */
            waiting: number;
            /** @description What is left at the counterparty, where it says so */
            funds: {
                /** @description The currency */
                currency: string;
                /** @description Decimal */
                amount: string;
            }[];
            /** @description What it has to pay from and what it will need, by currency */
            prefunding: components["schemas"]["RailPrefunding"][];
            /** @description The prices that its provider quotes; null where tariffs are the price */
            prices: {
                /** @description Of the newest price; null: none was read */
                age_seconds: number | null;
                /** @description Payers and currencies that are not offered because they have no fresh price */
                unpriced: number;
            } | null;
            /** @description When it last reported something definite, RFC 3339; "" if never */
            reported_at: string;
            /** @description When the oldest attempt without an outcome began; "": none */
            oldest_unanswered_at: string;
            /** @description Open exceptions about inbound messages: unmatched or unreadable */
            unresolved_inbound: number;
            /** @description Of these, about money or a status of no known payment */
            unmatched_inbound: number;
            /** @description Callbacks of the last 24 hours, in whole hours, that nothing proved to be the counterparty's */
            refused_callbacks_last_day: number;
            /** @description When its next file or window closes; "": it has none */
            next_cut_off_at: string;
            /** @description Payouts quoted in the last 24 hours */
            last_day: components["schemas"]["RailPerformance"] | null;
            /** @description Payouts quoted in the last 30 times 24 hours */
            last_30_days: components["schemas"]["RailPerformance"] | null;
        };
        OperatorScreenings: {
            /** @description Empty where there was none */
            screenings: {
                [key: string]: unknown;
            }[];
        };
        Overview: {
            /** @description The period in days */
            days: number;
            /** @description Money by account and currency, the first 1,000 by name; the report of a month has all */
            balances: {
                /** @description The account */
                account_id: string;
                /** @description Its name */
                account_name: string;
                /** @description The currency */
                currency: string;
                /** @description What can be committed, decimal */
                available: string;
                /** @description Set aside for batches, decimal */
                reserved: string;
                /** @description Handed to rails and not completed, decimal */
                in_transit: string;
            }[];
            /** @description The oldest day first */
            payouts_by_day: {
                /** @description The day of the quote, UTC */
                day: string;
                /** @description The present status */
                status: string;
                /** @description How many payouts */
                count: number;
            }[];
            /** @description Those with most payouts first */
            corridors: components["schemas"]["Performance"][];
            /** @description Those with most payouts first */
            rails: components["schemas"]["Performance"][];
            /** @description What needs a person now */
            needs: {
                /** @description Open exceptions */
                exceptions: number;
                /** @description Requests that wait for a second operator */
                approvals: number;
                /** @description Verifications that wait for a decision; counting ends at 1000 */
                identities: number;
                /** @description What is stopped or frozen */
                freezes: number;
            };
        };
        PayerTariffs: {
            /** @description The rail */
            rail: string;
            /** @description The payer, as the rail names it */
            payer_key: string;
            /** @description Its name */
            payer_name: string;
            /** @description Alpha-3 code */
            country: string;
            /** @description How it pays */
            delivery_type: string;
            /** @description What it pays out */
            currencies: string[];
            /** @description The one in effect, and those after it */
            tariffs: components["schemas"]["Tariff"][];
        };
        Performance: {
            /** @description The corridor (country, delivery type, currency), or the rail */
            name: string;
            /** @description Payouts that were committed in the period */
            committed: number;
            /** @description Of these, completed */
            completed: number;
            /** @description Of these, canceled */
            canceled: number;
            /** @description Completed ones among those that ended, 0 to 1; null: none ended */
            success: number | null;
            /** @description From commit to completion, to a tenth; null: none completed */
            median_seconds: number | null;
            /** @description The fee, in hundredths of a percent of the source amount, on average */
            fee_bps: number | null;
            /** @description How far the quoted rate is below the mid rate, in the same unit */
            margin_bps: number | null;
        };
        ProviderFinding: {
            /**
             * @description `failed`: no usable answer in three days
             * @enum {string}
             */
            state: "waiting" | "done" | "failed" | "skipped";
            /** @description Null until it is done */
            opinion: components["schemas"]["ProviderOpinion"] | null;
        };
        ProviderOpinion: {
            /**
             * @description `consider`: a person should look at the reasons
             * @enum {string}
             */
            outcome: "clear" | "consider" | "rejected";
            /** @description Whose opinion it is */
            provider: string;
            /** @description In the provider's words */
            reasons: string[];
            /** @description Of the selfie and the portrait, in the measure of the provider */
            face_similarity: number | null;
            /**
             * @description Only from a capture of the provider itself; one still cannot show it
             * @enum {string}
             */
            liveness: "not_checked" | "passed" | "failed";
        };
        RailPerformance: {
            /** @description The corridor (country, delivery type, currency), or the rail */
            name: string;
            /** @description Payouts that were committed in the period */
            committed: number;
            /** @description Of these, completed */
            completed: number;
            /** @description Of these, canceled */
            canceled: number;
            /** @description Completed ones among those that ended, 0 to 1; null: none ended */
            success: number | null;
            /** @description From commit to completion, to a tenth; null: none completed */
            median_seconds: number | null;
            /** @description The fee, in hundredths of a percent of the source amount, on average */
            fee_bps: number | null;
            /** @description How far the quoted rate is below the mid rate, in the same unit */
            margin_bps: number | null;
            /** @description Completed ones that were completed by the time of the quote, 0 to 1 */
            on_time: number | null;
            /** @description Payouts whose provider had quoted its fee and reported what it charged */
            charged: number;
            /** @description Of these, the fee quoted, in hundredths of a percent, on average */
            quoted_cost_bps: number | null;
            /** @description Of these, what was charged, in the same unit */
            cost_bps: number | null;
        };
        RailPrefunding: {
            /** @description Of the balance from which the rail pays */
            currency: string;
            /** @description As last read by this process, decimal; "" where it is not known */
            funds: string;
            /** @description For payouts that are committed and not handed over, decimal */
            committed: string;
            /** @description For payouts that are scheduled for the next 24 hours, decimal */
            scheduled: string;
            /** @description What remains after both, decimal, negative where it is short; "" if not known */
            left: string;
        };
        RailSending: {
            /** @description The rail */
            rail: string;
            /** @description Payouts that are being sent */
            being_sent: number;
            /** @description Payouts whose outcome is awaited */
            handed_over: number;
            /** @description Payouts that wait to be sent */
            waiting: number;
        };
        ReadDocument: {
            /** @description As in the zone: `P` of passports, `I`, `A` or `C` of cards */
            code: string;
            /** @description The code of ICAO 9303-3, section 5 */
            issuing_state: string;
            /** @description Transliterated by the issuing state */
            surname: string;
            /** @description Cut where the zone had no room */
            given_names: string;
            /** @description The document number */
            number: string;
            /** @description The code of ICAO 9303-3, section 5 */
            nationality: string;
            /** @description YYYY-MM-DD */
            date_of_birth: string;
            /** @description As the document has it */
            sex: string;
            /** @description YYYY-MM-DD */
            expires_on: string;
            /** @description By the clock of the environment */
            is_expired: boolean;
        };
        Recovery: {
            /**
             * @description Whether rails have listed their payments
             * @enum {string}
             */
            state: "none" | "listing" | "listed" | "released";
            /** @description When it began, and why */
            recovery?: {
                [key: string]: unknown;
            };
            /** @description What each rail has listed */
            rails?: {
                [key: string]: unknown;
            }[];
            /** @description Who has released it */
            releases?: {
                [key: string]: unknown;
            }[];
            /** @description Payments that rails listed */
            payments?: {
                /** @description The rail */
                rail: string;
                /** @description What the rail calls it */
                id: string;
                /** @description Of the instruction; "" on chains */
                reference: string;
                /** @description Of the rail */
                provider_reference: string;
                /** @description Decimal */
                amount: string;
                /** @description Of the amount */
                currency: string;
                /** @description What the rail says about it */
                outcome: string;
                /** @description What else it says */
                detail: string;
                /** @description When, UTC */
                happened_at: string;
                /** @description known, linked, found, unmatched or dismissed */
                result: string;
                /** @description The account; "" where it belongs to none */
                account_id: string;
                /** @description The payout; "" where it belongs to none */
                payout_token: string;
                /** @description The exception that was opened; "" for none */
                exception_id: string;
            }[];
        };
        SecondFactorProposal: {
            /** @description The secret in Base32, for an authenticator */
            secret: string;
            /** @description The same as the text of a QR code */
            uri: string;
            /** @description To be sent back with a code */
            proposal: string;
        };
        Sending: {
            /** @description What is in force, at most 1,000, those of accounts and recipients last; `GET /operator/freezes` has all */
            freezes: components["schemas"]["Freeze"][];
            /** @description How many freezes are in force */
            freezes_in_force: number;
            /** @description Whether a recovery after a restore is open */
            recovery: string;
            /** @description By rail */
            rails: components["schemas"]["RailSending"][];
        };
        Session: {
            /** @description Who is logged in */
            operator: {
                /** @description The name */
                name: string;
                /**
                 * @description The role
                 * @enum {string}
                 */
                role: "owner" | "operator" | "approver" | "compliance" | "viewer";
                /** @description What the role allows */
                permissions: ("read" | "operate" | "decide" | "comply" | "administer")[];
            };
            /** @description For the header `Outlay-CSRF` */
            csrf: string;
            /**
             * @description Where this session is valid
             * @enum {string}
             */
            environment: "staging" | "live";
            /** @description The newest version of the API */
            version: string;
            /** @description Accounts for which the operator may act, the oldest 1,000; `GET /operator/accounts` has all */
            accounts: {
                /** @description The identifier, for the header `Outlay-Account` */
                account: string;
                /** @description The name */
                name: string;
            }[];
            /** @description Whether there are more accounts than these */
            has_more_accounts: boolean;
            /** @description True: only a password and a second factor can be set up */
            is_restricted: boolean;
            /** @description Whether a password is set */
            has_password: boolean;
            /** @description Whether a second factor is set up */
            has_totp: boolean;
            /** @description When it ends without use, UTC */
            idle_ends_at: string;
            /** @description When it ends in any case, UTC */
            ends_at: string;
        };
        Suspense: {
            /** @description How many there are */
            matching: number;
            /** @description In this answer */
            shown: number;
            /** @description By payout, the latest first */
            suspense: components["schemas"]["SuspenseBalance"][];
        };
        SuspenseBalance: {
            /** @description The account */
            account: string;
            /** @description Its name */
            name: string;
            /** @description The recipient */
            user_token: string;
            /** @description The payout */
            payout_token: string;
            /** @description Of its recipient */
            currency: string;
            /** @description Decimal; negative: written off */
            amount: string;
            /** @description When it last changed, UTC */
            latest_at: string;
        };
        Tariff: {
            /** @description From when on, UTC; null: from the beginning */
            effective_from: string | null;
            /** @description Ascending in `up_to` */
            fee: components["schemas"]["TariffFeeStep"][];
            /** @description Taken from the mid rate, hundredths of a percent */
            margin_basis_points: number;
            /** @description All-in rates, which replace mid rate and margin */
            agreed_rates: {
                /** @description As USD/EUR */
                pair: string;
                /** @description Decimal */
                rate: string;
            }[];
            /** @description USD; 0: no limit */
            min_limit: string;
            /** @description USD; 0: no limit */
            max_limit: string;
        };
        TariffFeeStep: {
            /** @description Amounts up to and including this, USD; null: any */
            up_to: string | null;
            /** @description USD, decimal */
            fixed: string;
            /** @description Hundredths of a percent of the amount */
            basis_points: number;
        };
        Unreconciled: {
            /** @description Entries without a settlement */
            in_bank_only: components["schemas"]["BankEntry"][];
            /** @description Settlements without an entry */
            in_ledger_only: components["schemas"]["OpenSettlement"][];
        };
        WaitingScreenings: {
            /** @description Of the pass over all recipients; null before the first */
            progress: {
                /** @description When the lists changed, UTC */
                started_at: string;
                /** @description When the last recipient was screened, UTC */
                finished_at: string | null;
                /** @description How many recipients were screened so far */
                screened: string;
                /** @description How many of them had an undecided hit */
                hits: string;
                /** @description How many recipients are left */
                remaining: string;
            } | null;
            /** @description With an undecided hit, oldest first */
            recipients: {
                /** @description The account */
                account: string;
                /** @description The recipient */
                user_token: string;
                /** @description The number of the result */
                result: number;
                /** @description List and number of each entry, with spaces between them */
                entries: string;
                /** @description When, UTC */
                screened_at: string;
            }[];
            /** @description Scheduled payouts with a hit in their details, oldest first */
            payouts: {
                /** @description The account */
                account: string;
                /** @description The payout */
                payout_token: string;
                /** @description List and number of each entry, with spaces between them */
                entries: string;
                /** @description When, UTC */
                screened_at: string;
            }[];
            /** @description Whether more recipients wait than `limit` allows */
            has_more_recipients: boolean;
            /** @description Whether more payouts wait than `limit` allows */
            has_more_payouts: boolean;
        };
    };
}
