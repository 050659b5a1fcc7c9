/** Written by `npm run generate` from docs/openapi.json. */
import type { Decimal } from '../decimal.ts';

export interface paths {
    "/{version}/account/balance": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** Read the balances */
        get: operations["listBalances"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/account/balance/{balance_token}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** Read the statement of a balance */
        get: operations["listBalanceEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** List recipients */
        get: operations["listUsers"];
        put?: never;
        /** Create a recipient */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** Find a recipient by your own identifier, or by email and first name */
        get: operations["lookUpUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/{user_token}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** Read a recipient */
        get: operations["getUser"];
        /**
         * Update a recipient
         * @description Fields that are absent keep their values.
         */
        put: operations["updateUser"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/{user_token}/kyc/id": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** List the verification sessions of a user */
        get: operations["listVerificationSessions"];
        put?: never;
        /**
         * Upload ID images
         * @description Accepts a selfie and both sides of an identity document, and starts the review of the user.
         */
        post: operations["uploadIdImages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/identity/pending": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** List the verifications that wait for a decision */
        get: operations["listPendingIdentities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/{user_token}/kyc/id/decision": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide about an identity
         * @description For reviewers of the operator. If the account requires two persons, the first decision returns `waiting` and takes effect when another person decides the same.
         */
        post: operations["decideIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/country/list": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** List the served countries */
        get: operations["listCountries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/country/{country_code}/cheapest": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Find the cheapest destinations
         * @description Ordered by the cost to the sender. Rates are indicative: only a payout locks one.
         */
        get: operations["findCheapestDestinations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/country/{country_code}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List all destinations
         * @description Ordered by the cost to the sender. Rates are indicative: only a payout locks one.
         */
        get: operations["listDestinations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/attribute/{user_token}/{destination_token}/{currency}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Read the attributes that a destination needs
         * @description With the values of the set that a payout without `attr_set_token` uses: the newest complete set, else the newest. The value of `IDSelfieCollection` is a link through which images can be uploaded, so it is given to credentials with `kyc:write` only; others get "".
         */
        get: operations["readAttributes"];
        put?: never;
        /**
         * Store attribute values
         * @description Every fault is reported at once. A partial set is stored, and `missing` says what it lacks.
         */
        post: operations["storeAttributes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/payout/{user_token}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List a user's payouts
         * @description Search with `metadata[key]=value`; several must all hold.
         */
        get: operations["listUserPayouts"];
        put?: never;
        /**
         * Create a payout
         * @description Locks a rate until `expiration` and reserves nothing: the payout is PENDING until it is committed.
         */
        post: operations["createPayout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/payout/{user_token}/{payout_token}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Read a payout
         * @description With `Accept: application/pdf` its receipt instead.
         */
        get: operations["getPayout"];
        /**
         * Commit a payout
         * @description Starts the transfer, which cannot be undone. Answers 200 with the outcome in `status`. Committing a committed payout answers the same success again and moves nothing.
         */
        put: operations["commitPayout"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Read a payout with its receipt
         * @description The receipt is a PDF: as Base64 in `content`, or by itself with `Accept: application/pdf`.
         */
        patch: operations["exportPayout"];
        trace?: never;
    };
    "/{version}/payout": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List the account's payouts
         * @description Quotes included. After a lost answer, `client_transfer_id` finds the payout. Search with `metadata[key]=value`; several must all hold.
         */
        get: operations["listPayouts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/{user_token}/history": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List a user's transactions
         * @description Search with `metadata[key]=value`; several must all hold.
         */
        get: operations["listUserHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/user/history": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List all transactions
         * @description Search with `metadata[key]=value`; several must all hold.
         */
        get: operations["listHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/payout/{user_token}/{payout_token}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Explain the routing of a payout
         * @description Which payers were candidates, at what price and in what state, and which rule excluded each; every attempt at a rail; and the exceptions.
         */
        get: operations["explainPayout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List batches
         * @description Newest first, without faults, funds and payouts.
         */
        get: operations["listBatches"];
        put?: never;
        /**
         * Upload a batch of payouts
         * @description One payout per row: CSV with a header, one JSON object per line, or a JSON array of objects. Columns are the fields of a payout request plus `user_token` or `internal_user_id`; `client_transfer_id` is required. Every row is checked and priced, and nothing is reserved. With an `Idempotency-Key`, the same file sent again returns the same batch, and an interrupted upload resumes.
         */
        post: operations["createBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches/{batch_token}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /** Read a batch */
        get: operations["getBatch"];
        /**
         * Commit a batch
         * @description Reserves the money for all rows and starts the payouts, which cannot be undone. Answers 200 with the outcome in `status`; the payouts are created in the background. Committing a committed batch returns the same success again.
         */
        put: operations["commitBatch"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches/{batch_token}/rows": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * List the rows of a batch
         * @description In file order, each with its faults or its payout.
         */
        get: operations["listBatchRows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches/{batch_token}/result": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Download the result of a batch
         * @description CSV, or with `Accept: application/x-ndjson` one JSON object per line. In CSV an apostrophe precedes text that a spreadsheet would run as a formula; NDJSON has every value unchanged.
         */
        get: operations["getBatchResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches/{batch_token}/quote": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quote a batch
         * @description Locks the rates of all valid rows until `expiration`; reserves nothing. Can be repeated until the commit.
         */
        post: operations["quoteBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/batches/{batch_token}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a batch
         * @description Only before the commit; canceling a canceled batch returns the same answer again.
         */
        post: operations["cancelBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/{version}/events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        /**
         * Read the events of the account in order
         * @description To continue, send the `sequence` of the last event as `after`: no event is skipped or repeated.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an account
         * @description With credentials of its own and an empty USD balance.
         *
         *     Staging only; 404 in live.
         */
        post: operations["createSandboxAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/fund": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fund a balance
         * @description Creates the balance if there is none.
         *
         *     Staging only; 404 in live.
         */
        post: operations["fundSandboxBalance"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/clock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the clock
         * @description Staging only; 404 in live.
         */
        get: operations["readSandboxClock"];
        put?: never;
        /**
         * Move the clock forward
         * @description All accounts share the clock. Everything due until the new time happens before the answer. The clock must stay within a configured number of days of real time, by default 400.
         *
         *     Staging only; 404 in live.
         */
        post: operations["moveSandboxClock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/payout/{payout_token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the outcome of a payout
         * @description The simulated network reports this outcome of a committed payout; 409 where it is not possible.
         *
         *     Staging only; 404 in live.
         */
        post: operations["scriptSandboxPayout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandbox/kyc/{user_token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide about an identity check
         * @description Staging only; 404 in live.
         */
        post: operations["decideSandboxVerification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccessToken: {
            /** @description Opaque; to be sent as bearer token */
            access_token: string;
            /** @enum {string} */
            token_type: "Bearer";
            /** @description Lifetime in seconds */
            expires_in: number;
            /** @description The granted scopes, separated by spaces */
            scope: string;
        };
        Attribute: {
            token: string;
            /** @description "" if no values are stored */
            attr_set_token: string;
            label: string;
            /** @description RE2 pattern that the whole value must match */
            validation: string;
            is_optional: boolean;
            value: string;
            expected_value: string;
            /** @enum {string} */
            type: "CardNumber" | "BankAccountType" | "BankAccountNumber" | "BankAccountBranchNumber" | "BankName" | "PhoneNumber" | "Gender" | "IdentificationNumber" | "BillReferenceNumber" | "BankRoutingNumber" | "BankAccountName" | "MaidenName" | "SocialSecurity" | "EmploymentName" | "EmploymentAddress" | "EmploymentPhone" | "EmploymentOccupation" | "EmploymentSupervisor" | "RemittanceReason" | "Relationship" | "SecondLastName" | "SWIFT" | "BirthCountry" | "SourceOfFunds" | "DateOfBirth" | "CardExpiration" | "CardZip" | "IdentificationType" | "BankCity" | "BankState" | "IDSelfieCollection" | "City" | "Country" | "IdentificationExpiration" | "Address1" | "PostalCode";
            /** @enum {string} */
            input_type: "text" | "options" | "date";
            last_attr_value_used: boolean;
        };
        AttributeValues: {
            values: {
                token: string;
                value: string;
            }[];
            /** @description The set that gets a new version. Without it, a set with equal values or a new one */
            attr_set_token?: string;
        };
        AuthorizationServer: {
            issuer: string;
            token_endpoint: string;
            token_endpoint_auth_methods_supported: string[];
            grant_types_supported: string[];
            response_types_supported: string[];
            scopes_supported: string[];
            service_documentation: string;
        };
        Balance: {
            token: string;
            /** @description Available amount, exact */
            balance: Decimal;
            currency_code: string;
        };
        Batch: {
            batch_token: string;
            /** @enum {string} */
            status: "RECEIVING" | "DRAFT" | "QUOTED" | "COMMITTING" | "COMMITTED" | "CANCELLED";
            /** @enum {string} */
            format: "csv" | "ndjson" | "json";
            rows: {
                total: number;
                valid: number;
                invalid: number;
                /** @description Committed before with the same terms: not paid again */
                repeated: number;
                committed: number;
                refused: number;
                /** @description Valid rows without attr_set_token, which use the recipient's stored details */
                stored_details: number;
            };
            ignored_columns: string[];
            totals: components["schemas"]["BatchTotal"][];
            /** @description Only before the commit */
            funds: components["schemas"]["BatchFunds"][];
            /** @description Of the first rows with faults */
            faults: components["schemas"]["BatchFault"][];
            /** @description The path of all rows with faults; "" where there are none */
            faults_path: string;
            /** @description The number of payouts by status; with `include_payouts` only */
            payouts: {
                [key: string]: number;
            };
            created_on: string;
            quoted_on: string;
            /** @description The end of the quote */
            expiration: string;
            committed_on: string;
            completed_on: string;
        };
        BatchCommitRequest: {
            /**
             * @description all: fails if any row is invalid; valid: leaves invalid rows out
             * @enum {string}
             */
            mode: "all" | "valid";
        };
        BatchCommitResult: {
            batch_token: string;
            /** @enum {string} */
            status: "success" | "failure" | "ex_rate_expired";
            errors: string;
        };
        BatchFault: {
            row: number;
            line: number;
            /** @description "" for a fault of the row as a whole */
            column: string;
            code: string;
            detail: string;
        };
        BatchFunds: {
            currency_code: string;
            /** @description Amounts and fees of the valid rows */
            needed: Decimal;
            available: Decimal;
        };
        BatchRow: {
            /** @description 1 is the first row of data */
            row: number;
            line: number;
            /** @enum {string} */
            status: "VALID" | "INVALID" | "REPEATED" | "COMMITTED" | "REFUSED";
            client_transfer_id: string;
            user_token: string;
            source_currency_code: string;
            /** @description This and the next three only for rows with a price */
            source_amount?: Decimal;
            fee?: Decimal;
            destination_amount?: Decimal;
            exchange_rate?: Decimal;
            destination_token: string;
            destination_currency_code: string;
            /** @description "" until the row is committed */
            payout_token: string;
            payout_status: string;
            status_reason: string;
            pickup_code: string;
            faults: components["schemas"]["BatchRowFault"][];
            /**
             * @description row: the row names attr_set_token; stored: it uses the stored details
             * @enum {string}
             */
            details: "" | "row" | "stored";
            /** @description The attribute set of the payout; "" where it has none */
            attr_set_token: string;
            /** @description When the values of that set were stored, UTC */
            details_stored_on: string;
        };
        BatchRowFault: {
            /** @description "" for a fault of the row as a whole */
            column: string;
            code: string;
            detail: string;
        };
        BatchTotal: {
            source_currency_code: string;
            destination_currency_code: string;
            /** @description All-in: destinations with different margins have different rates */
            exchange_rate: Decimal;
            rows: number;
            source_amount: Decimal;
            fee: Decimal;
            destination_amount: Decimal;
        };
        CommitResult: {
            payout_token: string;
            /** @enum {string} */
            status: "success" | "failure" | "addtl_attr_req" | "ex_rate_expired";
            pickup_code: string;
            errors: string;
        };
        CountryLookup: {
            companies: {
                company_name: string;
                company_logo: string;
                /** @description 0 to 5 */
                rating: Decimal;
                description: string;
                services: {
                    country_code: string;
                    /** @enum {string} */
                    delivery_type: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
                    payers: {
                        destination_token: string;
                        payer_name: string;
                        /** @description Base64 PNG; "" unless include_payer_logos is true */
                        payer_logo: string;
                        exchange_rate: {
                            currency_symbol: string;
                            exchange_rate: Decimal;
                        }[];
                        /** @description In the source currency, in addition to the amount */
                        fee: Decimal;
                        /** @description In the source currency, inclusive; 0 means no limit */
                        min_limit: Decimal;
                        /** @description In the source currency, inclusive; 0 means no limit */
                        max_limit: Decimal;
                        source_amount: Decimal;
                        number_of_locations: number;
                        /** @description RFC 3339, UTC */
                        estimated_availability: string;
                        additional_description: string;
                        is_dynamic_token: boolean;
                    }[];
                }[];
            }[];
        };
        Event: {
            /** @description Begins with 1 and has no gaps within the account */
            sequence: number;
            /** @description One of user.created, user.updated; attributes.stored; payout.pending, payout.processing, payout.ready_for_pickup, payout.completed, payout.cancelled, payout.hold (waits for the operator), payout.error (every payer rejected it; the operator retries or refunds it); verification.started and the other statuses of a session; balance.funded; batch.committing, batch.committed. Types may be added: ignore unknown ones */
            type: string;
            /** @description UTC, without offset */
            created_on: string;
            data: {
                [key: string]: unknown;
            };
        };
        Fault: {
            /** @description JSON Pointer (RFC 6901) into the body */
            pointer?: string;
            /** @description The parameter or header, instead of `pointer` */
            parameter?: string;
            /** @description The token of the attribute */
            token?: string;
            code: string;
            detail: string;
        };
        Health: {
            /** @enum {string} */
            status: "ok";
            /** @description What does not work although requests are served; readiness only */
            degraded?: string[];
        };
        HistoryRow: {
            token: string;
            /** @enum {string} */
            type: "payout";
            /** @description UTC, without offset */
            time_of_txn: string;
            source_amount: Decimal;
            source_currency_code: string;
            destination_amount: Decimal;
            destination_currency_code: string;
            fee: Decimal;
            /** @enum {string} */
            status: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
            status_reason: string;
            /**
             * @description Why it is HOLD, ERROR or CANCELLED, or overdue; "" where there is nothing to say
             * @enum {string}
             */
            reason_code: "" | "outcome_unknown" | "not_sent" | "under_review" | "conflicting_reports" | "payer_not_configured" | "overdue" | "routes_exhausted" | "decided_by_operator" | "account_not_found" | "account_closed" | "account_blocked" | "account_not_creditable" | "invalid_details" | "name_mismatch" | "recipient_deceased" | "recipient_refused" | "not_collected" | "amount_refused" | "currency_refused" | "compliance" | "duplicate" | "no_funds" | "payer_unavailable" | "payer_refused" | "payer_error" | "sent_back" | "recalled" | "cancelled" | "replaced" | "unreachable" | "busy" | "no_answer" | "not_understood" | "not_configured" | "not_readable" | "daily_limit" | "review" | "other";
            /**
             * @description Who has to act for it to go on or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            payer_name: string;
            pickup_code: string;
            source_token: string;
            destination_token: string;
            /** @enum {string} */
            delivery_type: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
            client_transfer_id: string;
            user_token: string;
        };
        /** @description Three images, one of each type. */
        IdImages: {
            /** @enum {string} */
            type: "face" | "document-front" | "document-back";
            /** @description A PNG or JPEG image as padded Base64 (RFC 4648 section 4). */
            content: string;
        }[];
        IdentityDecision: {
            /**
             * @description `waiting`: another person must decide the same
             * @enum {string}
             */
            result: "done" | "waiting";
            session_id: string;
            /** @enum {string} */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
        };
        IdentityDecisionRequest: {
            /** @description The session that was reviewed */
            session_id?: string;
            /** @description The upload that was reviewed; 409 if there is a newer one */
            submission?: number;
            /** @enum {string} */
            decision: "approved" | "declined" | "resubmission_requested";
            /** @description The name of the reviewer */
            decided_by: string;
            reason: string;
        };
        LedgerEntry: {
            /** @description The journal of this entry */
            token: string;
            /** @enum {string} */
            type: "fund" | "commit" | "refund" | "return" | "reserve" | "release";
            /** @description Positive when the balance increased */
            amount: Decimal;
            balance_after: Decimal;
            currency_code: string;
            /** @description The ledger account of the opposite posting */
            counterpart: string;
            /** @description "" when it belongs to no payout */
            payout_token: string;
            /** @description The batch that the reserve is for; "" when it belongs to no batch */
            batch_token: string;
            created_on: string;
        };
        Payout: {
            payout_token: string;
            client_transfer_id: string;
            source_currency_code: string;
            destination_currency_code: string;
            source_token: string;
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            attr_set_token: string;
            exchange_rate: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @enum {string} */
            status: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
            status_reason: string;
            /**
             * @description Why it is HOLD, ERROR or CANCELLED, or overdue; "" where there is nothing to say
             * @enum {string}
             */
            reason_code: "" | "outcome_unknown" | "not_sent" | "under_review" | "conflicting_reports" | "payer_not_configured" | "overdue" | "routes_exhausted" | "decided_by_operator" | "account_not_found" | "account_closed" | "account_blocked" | "account_not_creditable" | "invalid_details" | "name_mismatch" | "recipient_deceased" | "recipient_refused" | "not_collected" | "amount_refused" | "currency_refused" | "compliance" | "duplicate" | "no_funds" | "payer_unavailable" | "payer_refused" | "payer_error" | "sent_back" | "recalled" | "cancelled" | "replaced" | "unreachable" | "busy" | "no_answer" | "not_understood" | "not_configured" | "not_readable" | "daily_limit" | "review" | "other";
            /**
             * @description Who has to act for it to go on or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            payer_name: string;
            /** @enum {string} */
            delivery_type: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
            country_code: string;
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
        };
        PayoutDecision: {
            payout_token: string;
            status: string;
            decisions: {
                /** @description UTC, without offset; "" where nothing was sent yet */
                decided_at: string;
                /** @description What made another decision necessary; "" at first */
                refused_because: string;
                candidates: {
                    destination_token: string;
                    payer_name: string;
                    company_name: string;
                    /** @description Decimal, in the source currency; "" where it gives no price */
                    fee: string;
                    /** @description Decimal, all-in */
                    exchange_rate: string;
                    /** @description Source amount and fee for the promised destination amount */
                    cost: string;
                    min_limit_usd: string;
                    /** @description "0" is no bound */
                    max_limit_usd: string;
                    /** @enum {string} */
                    health: "up" | "degraded" | "down";
                    /** @description Measured; null with too few payouts */
                    availability_percent: Decimal | null;
                    /** @description Measured, 0 to 5; null with too few payouts */
                    rating: Decimal | null;
                    score: Decimal | null;
                    is_chosen: boolean;
                    /** @description The rule that excluded it; "" for the one that was chosen */
                    excluded_by: string;
                    detail: string;
                }[];
            }[];
            attempts: {
                number: number;
                rail: string;
                payer_key: string;
                state: string;
                reason: string;
                provider_reference: string;
                started_at: string;
                answered_at: string;
            }[];
            exceptions: {
                kind: string;
                opened_at: string;
                closed_at: string;
                resolution: string;
            }[];
        };
        PayoutRequest: {
            /** @description Your own identifier; committed once, for ever. Made up when absent */
            client_transfer_id?: string;
            /** @description Default USD */
            source_currency_code?: string;
            destination_currency_code: string;
            /** @description A balance; excludes destination_token */
            source_token?: string;
            /** @description From the country look-up; excludes source_token */
            destination_token?: string;
            /** @description What leaves the balance, before the fee */
            source_amount?: Decimal;
            /** @description What the recipient gets */
            destination_amount?: Decimal;
            /** @description The attribute values to use; the latest ones without it */
            attr_set_token?: string;
            /** @description Yours; lists can be searched by it */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Whether the user gets a message */
            notify_user?: boolean;
        } & ((unknown | unknown) & (unknown | unknown));
        PayoutWithPdf: {
            payout_token: string;
            client_transfer_id: string;
            source_currency_code: string;
            destination_currency_code: string;
            source_token: string;
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            attr_set_token: string;
            exchange_rate: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @enum {string} */
            status: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
            status_reason: string;
            /**
             * @description Why it is HOLD, ERROR or CANCELLED, or overdue; "" where there is nothing to say
             * @enum {string}
             */
            reason_code: "" | "outcome_unknown" | "not_sent" | "under_review" | "conflicting_reports" | "payer_not_configured" | "overdue" | "routes_exhausted" | "decided_by_operator" | "account_not_found" | "account_closed" | "account_blocked" | "account_not_creditable" | "invalid_details" | "name_mismatch" | "recipient_deceased" | "recipient_refused" | "not_collected" | "amount_refused" | "currency_refused" | "compliance" | "duplicate" | "no_funds" | "payer_unavailable" | "payer_refused" | "payer_error" | "sent_back" | "recalled" | "cancelled" | "replaced" | "unreachable" | "busy" | "no_answer" | "not_understood" | "not_configured" | "not_readable" | "daily_limit" | "review" | "other";
            /**
             * @description Who has to act for it to go on or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            payer_name: string;
            /** @enum {string} */
            delivery_type: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
            country_code: string;
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
            /** @description Base64 PDF */
            content: string;
        };
        PendingIdentity: {
            user_token: string;
            session_id: string;
            provider: string;
            /** @enum {string} */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
            /** @description The number of uploads so far */
            submission: number;
            /** @description When it started, UTC: YYYY-MM-DDThh:mm:ss */
            session_time: string;
            /** @description When it last changed, UTC: YYYY-MM-DDThh:mm:ss */
            updated_on: string;
            /** @description Decisions that wait for a second person */
            decisions: {
                /** @enum {string} */
                decision: "approved" | "declined" | "resubmission_requested";
                /** @description The name of the reviewer */
                decided_by: string;
            }[];
        };
        Problem: {
            /**
             * Format: uri-reference
             * @description The address of a page that explains the problem
             */
            type: string;
            /** @description The kind of problem */
            title: string;
            /** @description The HTTP status */
            status: number;
            /** @description What is wrong with this request */
            detail: string;
            /** @description A stable code for programs */
            code: string;
            /** @description Quote it when you report the problem */
            request_id: string;
            /** @description With `duplicate_transfer`: the payout that was committed first */
            payout_token?: string;
            /** @description All faults; empty if `detail` is enough */
            errors: components["schemas"]["Fault"][];
        };
        SandboxAccount: {
            account: string;
            client_id: string;
            client_secret: string;
            api_key: string;
        };
        SandboxAccountRequest: {
            name: string;
        };
        SandboxClock: {
            /** @description RFC 3339, UTC, milliseconds */
            now: string;
        };
        SandboxClockMove: {
            advance_s?: number;
            /** @description RFC 3339, ending in Z */
            to?: string;
        } & (unknown | unknown);
        SandboxDecision: {
            /** @enum {string} */
            decision: "approved" | "declined";
        };
        SandboxDecisionApplied: {
            user_token: string;
            decision: string;
        };
        SandboxFunding: {
            currency_code: string;
            amount: Decimal;
        };
        SandboxOutcome: {
            /** @enum {string} */
            outcome: "ready_for_pickup" | "completed" | "rejected" | "returned" | "unknown";
        };
        SandboxOutcomeApplied: {
            payout_token: string;
            outcome: string;
        };
        ServedCountry: {
            /** @description ISO 3166-1 alpha-3 */
            country_code: string;
            country_name: string;
            /** @description ISO 3166-1 alpha-2 */
            code: string;
            /** @description Equal to country_code */
            three_letter_code: string;
            /** @description Equal to country_name */
            name: string;
            currencies: string[];
            delivery_types: ("CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY")[];
        };
        StoredAttributes: {
            attr_set_token: string;
            /** @description What a payout to this destination still needs; empty if the set is complete */
            missing: {
                token: string;
                label: string;
                /** @enum {string} */
                type: "CardNumber" | "BankAccountType" | "BankAccountNumber" | "BankAccountBranchNumber" | "BankName" | "PhoneNumber" | "Gender" | "IdentificationNumber" | "BillReferenceNumber" | "BankRoutingNumber" | "BankAccountName" | "MaidenName" | "SocialSecurity" | "EmploymentName" | "EmploymentAddress" | "EmploymentPhone" | "EmploymentOccupation" | "EmploymentSupervisor" | "RemittanceReason" | "Relationship" | "SecondLastName" | "SWIFT" | "BirthCountry" | "SourceOfFunds" | "DateOfBirth" | "CardExpiration" | "CardZip" | "IdentificationType" | "BankCity" | "BankState" | "IDSelfieCollection" | "City" | "Country" | "IdentificationExpiration" | "Address1" | "PostalCode";
            }[];
        };
        TokenError: {
            /** @enum {string} */
            error: "invalid_request" | "invalid_client" | "invalid_scope" | "unsupported_grant_type";
            error_description: string;
        };
        TokenRequest: {
            /** @enum {string} */
            grant_type: "client_credentials";
            /** @description Either here or as the user name of HTTP Basic */
            client_id?: string;
            /** @description Either here or as the password of HTTP Basic */
            client_secret?: string;
            /** @description A subset of the scopes of the client, separated by spaces; all by default */
            scope?: string;
        };
        User: {
            user_token: string;
            /** @enum {string} */
            status: "ACTIVE" | "LOCKED" | "DEACTIVE";
            /** @description UTC, without offset */
            created_on: string;
            internal_user_id: string;
            address1: string;
            address2: string;
            city: string;
            state_province: string;
            postal_code: string;
            country: string;
            first_name: string;
            middle_name: string;
            last_name: string;
            email: string;
            language: string;
            /** @description Digits only */
            mobile_number: string;
            business_name: string;
            /** @description An IANA time zone name */
            timezone: string;
            /** @description YYYY-MM-DD; "" if unknown */
            date_of_birth: string;
            metadata: {
                [key: string]: unknown;
            };
        };
        UserChanges: {
            /** @description Your own identifier of the user; unique in the account */
            internal_user_id?: string;
            /** @description ISO 3166-1 alpha-3 */
            country?: string;
            first_name?: string;
            last_name?: string;
            /** @description Unique in the account */
            email?: string;
            middle_name?: string;
            business_name?: string;
            address1?: string;
            address2?: string;
            city?: string;
            state_province?: string;
            postal_code?: string;
            /** @description Digits only, with the country code */
            mobile_number?: string;
            /** @description YYYY-MM-DD, at least eighteen years ago */
            date_of_birth?: string;
            /** @description ISO 639-1; of messages to the user. Default en */
            language?: string;
            /** @description An IANA name such as America/Mexico_City. Default: the time zone of the country */
            timezone?: string;
            metadata?: {
                [key: string]: unknown;
            };
        };
        UserLookup: {
            user_token: string;
            first_name: string;
            last_name: string;
            internal_user_id: string;
        };
        UserRequest: {
            /** @description Your own identifier of the user; unique in the account */
            internal_user_id: string;
            /** @description ISO 3166-1 alpha-3 */
            country: string;
            first_name: string;
            last_name: string;
            /** @description Unique in the account */
            email: string;
            middle_name?: string;
            business_name?: string;
            address1?: string;
            address2?: string;
            city?: string;
            state_province?: string;
            postal_code?: string;
            /** @description Digits only, with the country code */
            mobile_number?: string;
            /** @description YYYY-MM-DD, at least eighteen years ago */
            date_of_birth?: string;
            /** @description ISO 639-1; of messages to the user. Default en */
            language?: string;
            /** @description An IANA name such as America/Mexico_City. Default: the time zone of the country */
            timezone?: string;
            metadata?: {
                [key: string]: unknown;
            };
        };
        VerificationLink: {
            /** @enum {string} */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
            /** @description Whether three images can be sent now. */
            takes_images: boolean;
        };
        VerificationSession: {
            /**
             * @description The provider of the verification.
             * @example outlay
             */
            provider: string;
            session_id: string;
            /** @description When it started, UTC: YYYY-MM-DDThh:mm:ss. */
            session_time: string;
            /** @enum {string} */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
        };
    };
    responses: {
        /** @description The request is malformed or not valid. Codes: `invalid_request`, `unknown_parameter`, `malformed_json`, `malformed_http`, `source_and_destination_exclusive`. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The bearer credential is missing, malformed, unknown or expired. Codes: `unauthorized`. */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The credential lacks the required scope. Codes: `insufficient_scope`. */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The resource does not exist, or belongs to another account. Codes: `not_found`, `unknown_version`. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `Accept` excludes every media type of the response. Codes: `not_acceptable`. */
        NotAcceptable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body arrived too slowly; the connection is closed. Codes: `request_timeout`. */
        RequestTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request conflicts with the present state. Codes: `user_exists`, `user_not_active`, `duplicate_transfer`, `idempotency_in_progress`, `illegal_move`, `clock_backwards`. */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The data is no longer kept. Codes: `events_dropped`, `user_erased`. */
        Gone: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body, or an image in it, is too large. Codes: `body_too_large`. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The `Content-Type` is not supported, or the body is compressed. Codes: `unsupported_media_type`. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The Idempotency-Key was used for another request. Codes: `idempotency_key_reused`. */
        IdempotencyKeyReused: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests. Retry after the time in `Retry-After`. Codes: `rate_limited`. */
        TooManyRequests: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                "RateLimit-Limit": components["headers"]["RateLimitLimit"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description An error in the service. The effect is unknown. Codes: `internal_error`. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The service is starting, stopping or overloaded, or has no recent exchange rate. Codes: `rates_unavailable`, `recovering`, `unavailable`. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description The version of the API.
         * @example v0.1.4
         */
        Version: "v0.1.0" | "v0.1.1" | "v0.1.2" | "v0.1.3" | "v0.1.4";
        /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
        IdempotencyKey: string;
    };
    requestBodies: never;
    headers: {
        /** @description The id of this request, as in problem answers. */
        RequestId: string;
        /** @description `<address>; rel="next"`: the next page (RFC 8288); absent on the last one. */
        Link: string;
        /** @description Present if this is the stored answer of an earlier request. */
        IdempotentReplayed: "true";
        /** @description Seconds until the next attempt. */
        RetryAfter: number;
        /** @description Allowed requests per second. */
        RateLimitLimit: number;
        /** @description How to authenticate (RFC 6750). */
        WwwAuthenticate: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listBalances: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"][];
                };
            };
        };
    };
    listBalanceEntries: {
        parameters: {
            query?: {
                /** @example 10 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example 01a20224-22c4-7097-a05e-455b469e8dc8 */
                balance_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntry"][];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @example 10 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier of the user */
                internal_user_id?: string;
                /** @description Case is ignored */
                email?: string;
                /**
                 * @description ISO 3166-1 alpha-3
                 * @example MEX
                 */
                country?: string;
                status?: "ACTIVE" | "LOCKED" | "DEACTIVE";
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"][];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    lookUpUser: {
        parameters: {
            query?: {
                /** @example customer-1024 */
                internal_user_id?: string;
                email?: string;
                first_name?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserLookup"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    listVerificationSessions: {
        parameters: {
            query?: {
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationSession"][];
                };
            };
        };
    };
    uploadIdImages: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdImages"];
            };
        };
        responses: {
            /** @description Success; the body is empty. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listPendingIdentities: {
        parameters: {
            query?: {
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingIdentity"][];
                };
            };
        };
    };
    decideIdentity: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityDecisionRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityDecision"];
                };
            };
        };
    };
    listCountries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServedCountry"][];
                };
            };
        };
    };
    findCheapestDestinations: {
        parameters: {
            query?: {
                /** @description Default USD */
                source_currency?: string;
                /**
                 * @description In the source currency; default 200
                 * @example 200
                 */
                amount?: Decimal;
                /** @description The maximum of amount and fee together, in the source currency */
                limit?: Decimal;
                /** @description The token of a balance, whose currency is the source */
                wallet_token?: string;
                /** @description Must exist; the answer does not depend on it */
                user_token?: string;
                /**
                 * @description Only payers that pay out in it
                 * @example MXN
                 */
                destination_currency?: string;
                /** @description Only the payer of this name; case is ignored */
                payer_name?: string;
                include_payer_logos?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example MEX */
                country_code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountryLookup"];
                };
            };
        };
    };
    listDestinations: {
        parameters: {
            query?: {
                /** @description Default USD */
                source_currency?: string;
                /** @description In the source currency; default 200 */
                amount?: Decimal;
                /** @description The maximum of amount and fee together, in the source currency */
                limit?: Decimal;
                /** @description The token of a balance, whose currency is the source */
                wallet_token?: string;
                /** @description Must exist; the answer does not depend on it */
                user_token?: string;
                /**
                 * @description Only payers that pay out in it
                 * @example LTC
                 */
                destination_currency?: string;
                /** @description Only the payer of this name; case is ignored */
                payer_name?: string;
                /** @example false */
                include_payer_logos?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example MEX */
                country_code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountryLookup"];
                };
            };
        };
    };
    readAttributes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example 80ef88c5-267f-5f31-8509-cae95aa857a9 */
                destination_token: string;
                /** @example MXN */
                currency: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attribute"][];
                };
            };
        };
    };
    storeAttributes: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example 80ef88c5-267f-5f31-8509-cae95aa857a9 */
                destination_token: string;
                /** @example MXN */
                currency: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttributeValues"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredAttributes"];
                };
            };
        };
    };
    listUserPayouts: {
        parameters: {
            query?: {
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier: the payout that was committed with it, and its other quotes */
                client_transfer_id?: string;
                status?: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                delivery_type?: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"][];
                };
            };
        };
    };
    createPayout: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PayoutRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"];
                };
            };
        };
    };
    getPayout: {
        parameters: {
            query?: {
                /** @example false */
                include_payer_logo?: boolean;
                /**
                 * @description Queries the rail before answering
                 * @example false
                 */
                force_status_update?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example payout_01a20224-2876-773a-b8d5-2bf81639f26c */
                payout_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"];
                    "application/pdf": string;
                };
            };
        };
    };
    commitPayout: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example payout_01a20224-2876-773a-b8d5-2bf81639f26c */
                payout_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommitResult"];
                };
            };
        };
    };
    exportPayout: {
        parameters: {
            query?: {
                include_payer_logo?: boolean;
                /** @description Queries the rail before answering */
                force_status_update?: boolean;
            };
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example payout_01a20224-2876-773a-b8d5-2bf81639f26c */
                payout_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutWithPdf"];
                    "application/pdf": string;
                };
            };
        };
    };
    listPayouts: {
        parameters: {
            query?: {
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /**
                 * @description Your own identifier: the payout that was committed with it, and its other quotes
                 * @example invoice-MXN-2041
                 */
                client_transfer_id?: string;
                status?: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                delivery_type?: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Only payouts to this user */
                user_token?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"][];
                };
            };
        };
    };
    listUserHistory: {
        parameters: {
            query?: {
                /**
                 * @description Rows per page; at most 100 with page
                 * @example 10
                 */
                number_of_records?: number;
                /** @description Page number; 1 is the newest. Excludes cursor */
                page?: number;
                /** @description Alias of number_of_records, which it excludes */
                limit?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier: the payout that was committed with it, and its other quotes */
                client_transfer_id?: string;
                status?: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
                /** @description The first day of time_of_txn, UTC */
                start_date?: string;
                /** @description The last day of time_of_txn, UTC */
                end_date?: string;
                /** @description payout is the only type there is */
                type?: "payout";
                /** @description Only what was paid from this balance */
                wallet_token?: string;
                /** @description Accepted; the answer does not depend on it */
                show_all_clients?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryRow"][];
                };
            };
        };
    };
    listHistory: {
        parameters: {
            query?: {
                /**
                 * @description Rows per page; at most 100 with page
                 * @example 1
                 */
                number_of_records?: number;
                /** @description Page number; 1 is the newest. Excludes cursor */
                page?: number;
                /** @description Alias of number_of_records, which it excludes */
                limit?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier: the payout that was committed with it, and its other quotes */
                client_transfer_id?: string;
                status?: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
                /** @description The first day of time_of_txn, UTC */
                start_date?: string;
                /** @description The last day of time_of_txn, UTC */
                end_date?: string;
                /** @description payout is the only type there is */
                type?: "payout";
                /** @description Only what was paid from this balance */
                wallet_token?: string;
                /** @description Accepted; the answer does not depend on it */
                show_all_clients?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryRow"][];
                };
            };
        };
    };
    explainPayout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
                /** @example payout_01a20224-2876-773a-b8d5-2bf81639f26c */
                payout_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutDecision"];
                };
            };
        };
    };
    listBatches: {
        parameters: {
            query?: {
                /** @example 1 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"][];
                };
            };
        };
    };
    createBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "text/csv": string;
                "application/x-ndjson": string;
                "application/json": {
                    [key: string]: unknown;
                }[];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    getBatch: {
        parameters: {
            query?: {
                /** @description Count its payouts by status, which reads every row */
                include_payouts?: boolean;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c59-7415-b262-0714eafd8ea5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    commitBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c59-7415-b262-0714eafd8ea5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchCommitRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchCommitResult"];
                };
            };
        };
    };
    listBatchRows: {
        parameters: {
            query?: {
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @example INVALID */
                status?: "VALID" | "INVALID" | "REPEATED" | "COMMITTED" | "REFUSED";
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c59-7415-b262-0714eafd8ea5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchRow"][];
                };
            };
        };
    };
    getBatchResult: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c59-7415-b262-0714eafd8ea5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    quoteBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c59-7415-b262-0714eafd8ea5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    cancelBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
                /** @example batch_01a20224-2c8e-722d-85b1-65f09cc377f5 */
                batch_token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /**
                 * @description The sequence of the last event that you have. Default: begin with the oldest stored event
                 * @example 4
                 */
                after?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The version of the API.
                 * @example v0.1.4
                 */
                version: components["parameters"]["Version"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    createSandboxAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxAccountRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxAccount"];
                };
            };
        };
    };
    fundSandboxBalance: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxFunding"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
        };
    };
    readSandboxClock: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxClock"];
                };
            };
        };
    };
    moveSandboxClock: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxClockMove"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxClock"];
                };
            };
        };
    };
    scriptSandboxPayout: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @example payout_01a20224-2876-773a-b8d5-2bf81639f26c */
                payout_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxOutcome"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxOutcomeApplied"];
                };
            };
        };
    };
    decideSandboxVerification: {
        parameters: {
            query?: never;
            header?: {
                /** @description Chosen by you, one per operation. For 30 days a request with the same key returns the first answer. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path: {
                /** @example usr_01a20224-274e-744c-b609-f04eb909841f */
                user_token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxDecision"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Idempotent-Replayed": components["headers"]["IdempotentReplayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxDecisionApplied"];
                };
            };
        };
    };
}
