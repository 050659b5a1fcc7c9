/** Written by `npm run generate` from docs/openapi.json. */
import type { Decimal } from '../decimal.ts';

export interface components {
    schemas: {
        AccessToken: {
            /** @description Opaque; to be sent as bearer token */
            access_token: string;
            /**
             * @description How to send it (RFC 6750)
             * @enum {string}
             */
            token_type: "Bearer";
            /** @description Lifetime in seconds */
            expires_in: number;
            /** @description The granted scopes, separated by spaces */
            scope: string;
        };
        AccountEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "account.frozen" | "account.unfrozen";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AccountEventData"];
        };
        /** @description What the operator stopped for the account */
        AccountEventData: {
            /** @description Since when commits are refused and nothing is sent, UTC */
            frozen_on: string;
            /** @description UTC, without offset; "" while it is frozen */
            unfrozen_on: string;
        };
        AccountEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "account.frozen" | "account.unfrozen";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AccountEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        AccountRestoredEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "account.restored";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AccountRestoredEventData"];
        };
        /** @description Which events count no longer: the database was restored to an earlier moment */
        AccountRestoredEventData: {
            /** @description Of the event before this one. Events with numbers between the two never happened */
            last_sequence: number;
        };
        AccountRestoredEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "account.restored";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AccountRestoredEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        Attribute: {
            /** @description The attribute, to store a value for it */
            token: string;
            /** @description "" if no values are stored */
            attr_set_token: string;
            /** @description For a wallet address, it names the network */
            label: string;
            /** @description RE2 pattern that the whole value must match */
            validation: string;
            /** @description Whether a payout can be committed without it */
            is_optional: boolean;
            /** @description The stored value, or the link to the verification session; "" where none is */
            value: string;
            /** @description A hint for the person who enters the value, or the choices */
            expected_value: string;
            /** @description What the attribute is, regardless of its label */
            type: components["schemas"]["AttributeType"];
            /**
             * @description What a form shows; with `options`, `validation` lists the choices
             * @enum {string}
             */
            input_type: "text" | "options" | "date";
            /** @description Whether `value` is one that was stored before */
            last_attr_value_used: boolean;
            /** @description The options that need it, of which one per group must be complete. Usually empty */
            alternatives: components["schemas"]["AttributeAlternative"][];
        };
        AttributeAlternative: {
            /** @description Of the options of a group, one must be complete */
            group: string;
            /** @description The option that the attribute belongs to */
            option: string;
            /** @description Of the option */
            label: string;
            /** @description The form of the value in this option */
            validation: string;
        };
        /** @enum {string} */
        AttributeType: "CardNumber" | "BankAccountType" | "BankAccountNumber" | "BankAccountBranchNumber" | "BankName" | "PhoneNumber" | "Gender" | "IdentificationNumber" | "BillReferenceNumber" | "BankRoutingNumber" | "BankAccountName" | "MaidenName" | "SocialSecurity" | "EmploymentName" | "EmploymentAddress" | "EmploymentPhone" | "EmploymentOccupation" | "EmploymentSupervisor" | "RemittanceReason" | "Relationship" | "SecondLastName" | "SWIFT" | "BirthCountry" | "SourceOfFunds" | "DateOfBirth" | "CardExpiration" | "CardZip" | "IdentificationType" | "BankCity" | "BankState" | "IDSelfieCollection" | "City" | "Country" | "IdentificationExpiration" | "Address1" | "PostalCode";
        AttributeValues: {
            /** @description The values to store; attributes left out keep theirs */
            values: {
                /** @description An attribute of this destination */
                token: string;
                /** @description The value, as its `validation` asks */
                value: string;
            }[];
            /** @description The set that gets a new version. Without it, a set with equal values or a new one */
            attr_set_token?: string;
        };
        AttributesEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "attributes.stored";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AttributesEventData"];
        };
        /** @description The set; the members after version only with the scope users:read */
        AttributesEventData: {
            /** @description The set that has a new version */
            attr_set_token: string;
            /** @description The user whose values they are; "" after an erasure */
            user_token: string;
            /** @description The number of the version, from 1 */
            version: number;
            /** @description The destination of the set */
            destination_token?: string;
            /** @description The currency of the set */
            currency_code?: string;
            /** @description Whether all required values are stored */
            is_complete?: boolean;
            /** @description UTC, without offset */
            stored_on?: string;
            /** @description Attribute type to value, numbers masked */
            attrs?: {
                [key: string]: string;
            };
        };
        AttributesEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "attributes.stored";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["AttributesEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        AuthorizationServer: {
            /** @description The address of the service */
            issuer: string;
            /** @description Where access tokens are issued */
            token_endpoint: string;
            /** @description The secret in HTTP Basic or in the form */
            token_endpoint_auth_methods_supported: string[];
            /** @description Where tokens and API keys are revoked */
            revocation_endpoint: string;
            /** @description How a client authenticates there */
            revocation_endpoint_auth_methods_supported: string[];
            /** @description Only `client_credentials` */
            grant_types_supported: string[];
            /** @description Empty: there is no authorization endpoint */
            response_types_supported: string[];
            /** @description Every scope that a client can have */
            scopes_supported: string[];
            /** @description The address of the API reference */
            service_documentation: string;
        };
        Balance: {
            /** @description The balance; `source_token` of a payout */
            token: string;
            /** @description Available amount, exact */
            balance: Decimal;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
        };
        BalanceChange: {
            /** @description Of the balance */
            token: string;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
            /** @description Before the commit */
            before: Decimal;
            /** @description After it */
            after: Decimal;
        };
        BalanceEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "balance.funded" | "balance.adjusted";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["BalanceEventData"];
        };
        /** @description The balance; its amount only with the scope balance:read */
        BalanceEventData: {
            /** @description The balance; `source_token` of a payout */
            token: string;
            /** @description Available amount, exact */
            balance?: Decimal;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
        };
        BalanceEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "balance.funded" | "balance.adjusted";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["BalanceEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        Batch: {
            /** @description The batch */
            batch_token: string;
            /** @description As given at the upload; "" where none was given */
            name: string;
            /**
             * @description Where the batch stands; COMMITTED is the end
             * @enum {string}
             */
            status: "RECEIVING" | "DRAFT" | "QUOTED" | "COMMITTING" | "COMMITTED" | "CANCELLED";
            /**
             * @description The format of the uploaded file
             * @enum {string}
             */
            format: "csv" | "ndjson" | "json";
            /** @description The number of rows */
            rows: {
                /** @description All rows of the file */
                total: number;
                /** @description Rows that can become payouts */
                valid: number;
                /** @description Rows with faults */
                invalid: number;
                /** @description Committed before with the same terms: not paid again */
                repeated: number;
                /** @description Rows that became payouts */
                committed: number;
                /** @description Valid rows that could not be committed; `faults` of the row says why */
                refused: number;
                /** @description Valid rows without attr_set_token, which use the recipient's stored details */
                stored_details: number;
            };
            /** @description Columns of the file that are not known here */
            ignored_columns: string[];
            /** @description The sums of valid rows, by pair of currencies */
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
            /** @description UTC, without offset: YYYY-MM-DDThh:mm:ss */
            created_on: string;
            /** @description When the rates were locked, UTC; "" before */
            quoted_on: string;
            /** @description Counts the quotes of the batch; 0 before the first */
            quote_number: number;
            /** @description The end of the quote */
            expiration: string;
            /** @description When the last row was committed or refused, UTC; "" before */
            committed_on: string;
            /** @description When the last payout ended, UTC; "" before */
            completed_on: string;
        };
        BatchCommitRequest: {
            /**
             * @description all: fails if any row is invalid; valid: leaves invalid rows out
             * @enum {string}
             */
            mode: "all" | "valid";
            /** @description Of the quote whose prices were read: where the batch was quoted again since, nothing is committed. Without it, the newest quote is committed */
            quote_number?: number;
        };
        BatchCommitResult: {
            /** @description The batch */
            batch_token: string;
            /**
             * @description Whether the funds of the batch are reserved
             * @enum {string}
             */
            status: "success" | "failure" | "ex_rate_expired";
            /** @description What prevented it, in words; "" where nothing did */
            errors: string;
            /** @description Why it is not a success */
            code?: components["schemas"]["BatchRefusal"];
            /** @description Of insufficient funds: what each balance lacks */
            shortfalls?: components["schemas"]["Shortfall"][];
            /** @description Of a dry run only */
            dry_run?: components["schemas"]["BatchDryRun"];
        };
        BatchDryRun: {
            /** @description The transfers that the commit would post; empty where it would be refused */
            postings: components["schemas"]["Posting"][];
            /** @description The balances that the commit would change; empty without the scope balance:read */
            balances: components["schemas"]["BalanceChange"][];
        };
        BatchEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "batch.receiving" | "batch.draft" | "batch.quoted" | "batch.committing" | "batch.committed" | "batch.cancelled" | "batch.removed";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["BatchEventData"];
        };
        /** @description The batch as it was after the change */
        BatchEventData: {
            /** @description The batch */
            batch_token: string;
            /** @description As given at the upload; "" where none was given */
            name: string;
            /**
             * @description The status after the change
             * @enum {string}
             */
            status: "RECEIVING" | "DRAFT" | "QUOTED" | "COMMITTING" | "COMMITTED" | "CANCELLED" | "REMOVED";
            /**
             * @description The format of the uploaded file
             * @enum {string}
             */
            format: "csv" | "ndjson" | "json";
            /** @description The number of rows */
            rows: {
                /** @description All rows of the file */
                total: number;
                /** @description Rows that can become payouts */
                valid: number;
                /** @description Rows with faults */
                invalid: number;
                /** @description Committed before with the same terms: not paid again */
                repeated: number;
                /** @description Rows that became payouts */
                committed: number;
                /** @description Valid rows that could not be committed; `faults` of the row says why */
                refused: number;
                /** @description Valid rows without attr_set_token, which use the recipient's stored details */
                stored_details: number;
            };
            /** @description Columns of the file that are not known here */
            ignored_columns: string[];
            /** @description The sums of valid rows, by pair of currencies */
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
            /** @description UTC, without offset: YYYY-MM-DDThh:mm:ss */
            created_on: string;
            /** @description When the rates were locked, UTC; "" before */
            quoted_on: string;
            /** @description Counts the quotes of the batch; 0 before the first */
            quote_number: number;
            /** @description The end of the quote */
            expiration: string;
            /** @description When the last row was committed or refused, UTC; "" before */
            committed_on: string;
            /** @description When the last payout ended, UTC; "" before */
            completed_on: string;
        };
        BatchEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "batch.receiving" | "batch.draft" | "batch.quoted" | "batch.committing" | "batch.committed" | "batch.cancelled" | "batch.removed";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["BatchEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        BatchFault: {
            /** @description The number of the row; 1 is the first row of data */
            row: number;
            /** @description The line of the file on which the row begins; the header of a CSV file is line 1 */
            line: number;
            /** @description "" for a fault of the row as a whole */
            column: string;
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code: components["schemas"]["ProblemCode"];
            /** @description What is wrong, in words, for a person */
            detail: string;
            /** @description What the recipient lacks; empty for other faults */
            missing: components["schemas"]["MissingDetail"][];
        };
        BatchFunds: {
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
            /** @description Amounts and fees of the valid rows */
            needed: Decimal;
            /** @description What the balance holds now */
            available: Decimal;
        };
        /** @enum {string} */
        BatchRefusal: "account_frozen" | "commits_stopped" | "ex_rate_expired" | "invalid_rows" | "insufficient_funds" | "nothing_to_pay" | "not_quoted" | "quote_changed";
        BatchRow: {
            /** @description 1 is the first row of data */
            row: number;
            /** @description The line of the file on which the row begins; the header of a CSV file is line 1 */
            line: number;
            /**
             * @description Where the row stands
             * @enum {string}
             */
            status: "VALID" | "INVALID" | "REPEATED" | "COMMITTED" | "REFUSED";
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The recipient; "" if the row names no known one */
            user_token: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description This and the other amounts and rates only for rows with a price */
            source_amount?: Decimal;
            /** @description In the source currency, on top of `source_amount` */
            fee?: Decimal;
            /** @description What the recipient gets, in `destination_currency_code` */
            destination_amount?: Decimal;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate?: Decimal;
            /** @description The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where only a rate agreed with the payer is known */
            mid_rate?: Decimal;
            /** @description The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis points. Negative if the rate is better than the mid rate */
            margin?: Decimal;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description "" until the row is committed */
            payout_token: string;
            /** @description The status of the payout; "" until the row is committed */
            payout_status: string;
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Eight digits for a cash pickup after the commit, else "" */
            pickup_code: string;
            /** @description Why the row is invalid or was refused; empty otherwise */
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
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code: components["schemas"]["ProblemCode"];
            /** @description What is wrong, in words, for a person */
            detail: string;
            /** @description What the recipient lacks; empty for other faults */
            missing: components["schemas"]["MissingDetail"][];
        };
        BatchTotal: {
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description All-in: destinations with different margins have different rates */
            exchange_rate: Decimal;
            /** @description The number of rows */
            rows: number;
            /** @description What leaves the balance, before the fee, in `source_currency_code` */
            source_amount: Decimal;
            /** @description In the source currency, on top of `source_amount` */
            fee: Decimal;
            /** @description What the recipient gets, in `destination_currency_code` */
            destination_amount: Decimal;
        };
        Brand: {
            /** @description As recipients see it: display_name, or else the account */
            sender_name: string;
            /** @description "" where none is set */
            display_name: string;
            /** @description #rrggbb, or "" for the default */
            color: string;
            /** @description What pages make of the color; null for the default */
            tones: {
                /** @description #rrggbb of texts and lines on a light page, at least 4.5 to 1 */
                light: string;
                /** @description #rrggbb of texts and lines on a dark page, at least 4.5 to 1 */
                dark: string;
                /** @description #rrggbb of filled buttons: the color itself */
                fill: string;
                /** @description #rrggbb of texts on them */
                on_fill: string;
            } | null;
            /** @description PNG in Base64, or "" */
            logo: string;
            /** @description "" where none is set */
            privacy_url: string;
        };
        BrandRequest: {
            /** @description The sender; "" for the name of the account */
            display_name?: string;
            /** @description #rrggbb of buttons and lines; "" for the default */
            color?: string;
            /** @description A PNG, JPEG or SVG picture as padded Base64; "" removes it. It is drawn anew as a PNG of at most 600 by 200 pixels */
            logo?: string;
            /** @description Your notice about data protection; "" removes it */
            privacy_url?: string;
        };
        Checkpoint: {
            /** @description JSON, exactly as it is signed: the heads of both chains */
            statement: string;
            /** @description Ed25519 over the statement, Base64 */
            signature: string;
            /** @description Of a key of `/.well-known/receipt-keys.json` */
            key_id: string;
        };
        CommitResult: {
            /** @description The payout */
            payout_token: string;
            /**
             * @description With `success`, where it waits until persons have approved it; else absent
             * @enum {string}
             */
            payout_status?: "HOLD";
            /** @description With payout_status: why */
            status_reason?: string;
            /**
             * @description Whether money moves; only with `success`
             * @enum {string}
             */
            status: "success" | "failure" | "addtl_attr_req" | "ex_rate_expired";
            /** @description Eight digits for a cash pickup after the commit, else "" */
            pickup_code: string;
            /** @description What prevented the commit, in words; "" with `success` */
            errors: string;
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code?: components["schemas"]["ObstacleCode"];
            /**
             * @description Who has to act
             * @enum {string}
             */
            actor?: "client" | "recipient" | "operator" | "payer";
            /** @description Whether the same request can succeed once the actor has acted, or after a while */
            retryable?: boolean;
            /** @description Empty where no detail is missing or wrong */
            missing?: components["schemas"]["MissingDetail"][];
            /** @description Of insufficient funds: what the balance lacks */
            shortfall?: components["schemas"]["Shortfall"];
            /** @description Of a dry run only */
            dry_run?: components["schemas"]["DryRun"];
        };
        ConfirmationLink: {
            /** @description The proposal of a payout */
            proposal_token: string;
            /** @description Anyone who has it can confirm and decline: give it to a person only */
            url: string;
            /** @description UTC, without offset */
            expiration: string;
        };
        CountryLookup: {
            /** @description Companies that pay out in the country; empty where none does */
            companies: {
                /** @description The company that pays out */
                company_name: string;
                /** @description Base64 PNG; "" unless `include_payer_logos` is true */
                company_logo: string;
                /** @description 0 to 5 */
                rating: Decimal;
                /** @description The company, and how its rating was measured */
                description: string;
                /** @description The kinds of delivery of the company */
                services: {
                    /** @description ISO 3166-1 alpha-3, such as MEX */
                    country_code: string;
                    /** @description How the recipient gets the money */
                    delivery_type: components["schemas"]["DeliveryType"];
                    /** @description The payers, the cheapest one first */
                    payers: {
                        /** @description The payer and delivery, from the country look-up */
                        destination_token: string;
                        /** @description The payer, as a recipient knows it */
                        payer_name: string;
                        /** @description Base64 PNG; "" unless include_payer_logos is true */
                        payer_logo: string;
                        /** @description Destination currency per unit of the source currency, all-in */
                        exchange_rate: {
                            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
                            currency_symbol: string;
                            /** @description The chain on which this payer pays a cryptocurrency, such as ethereum or polygon: what is sent on another chain is lost. "" for other currencies, and where the payer decides */
                            network: string;
                            /** @description Units of this currency for one unit of the source currency, margin included */
                            exchange_rate: Decimal;
                            /** @description The market rate from which exchange_rate is taken */
                            mid_rate: Decimal;
                            /** @description What would arrive in this currency for source_amount at this rate, rounded down */
                            destination_amount: Decimal;
                        }[];
                        /** @description In the source currency, in addition to the amount */
                        fee: Decimal;
                        /** @description In the source currency, inclusive; 0 means no limit */
                        min_limit: Decimal;
                        /** @description In the source currency, inclusive; 0 means no limit */
                        max_limit: Decimal;
                        /** @description The amount that is asked about, before the fee */
                        source_amount: Decimal;
                        /** @description What a payout of this amount would take from the balance: source_amount and fee */
                        total_debit: Decimal;
                        /** @description Places of pickup; 0 for other deliveries */
                        number_of_locations: number;
                        /** @description RFC 3339, UTC */
                        estimated_availability: string;
                        /** @description What a recipient must know, such as papers to bring */
                        additional_description: string;
                        /** @description Whether an equivalent payer takes over after a refusal */
                        is_dynamic_token: boolean;
                        /**
                         * @description What identifies the recipient: `stored_card`, the token of a card at the payment provider; `provider_account`, the ID of an account there; "", what the delivery type usually asks for
                         * @enum {string}
                         */
                        account_form: "" | "stored_card" | "provider_account";
                        /** @description False while the operator has stopped payouts to it; rates and fees hold anyway */
                        available: boolean;
                        /**
                         * @description With `account_frozen`, `commits_stopped` and `recovering` commits are refused; with the others payouts wait
                         * @enum {string}
                         */
                        unavailable_reason: "" | "account_frozen" | "commits_stopped" | "sending_stopped" | "corridor_frozen" | "rail_frozen" | "recovering";
                    }[];
                }[];
            }[];
        };
        CreatedPayout: {
            /** @description The payout */
            payout_token: string;
            /** @description The recipient */
            user_token: string;
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description The balance that pays */
            source_token: string;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            /** @description The set of stored attribute values that is used */
            attr_set_token: string;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate: Decimal;
            /** @description The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where only a rate agreed with the payer is known */
            mid_rate: Decimal;
            /** @description The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis points. Negative if the rate is better than the mid rate */
            margin: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description ISO 3166-1 alpha-3, such as MEX */
            country_code: string;
            /** @description Your own keys and values, unchanged */
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
            /** @description When it was quoted: RFC 3339, UTC */
            created_at: string;
            /** @description RFC 3339, UTC; "" before the commit */
            committed_at: string;
            /** @description When the payer reported it paid: RFC 3339, UTC; "" before. Stays when the money comes back */
            completed_at: string;
            /** @description When it became CANCELLED: RFC 3339, UTC; "" while it is not */
            canceled_at: string;
            /** @description Every status that it had, the oldest first, for as long as events are kept */
            timeline: components["schemas"]["PayoutTimelineEntry"][];
            /** @description Whether the client can still cancel it: only while it is SCHEDULED. A commit cannot be undone, and a quote that is not committed expires by itself */
            cancelable: boolean;
            /** @description What `fee` consists of; empty if there is none */
            fees: components["schemas"]["PayoutFee"][];
            /** @description What the commit takes from the balance, in the source currency: source_amount and fee */
            total_debit: Decimal;
            /** @description The chain of a cryptocurrency payout, such as bitcoin, litecoin, ethereum or, for a chain without a common name, its CAIP-2 identifier; "" for any other payout */
            network: string;
            /** @description The payment's identifier at the payer, to quote in inquiries; on a chain it is the transaction hash. "" until the payer has given one */
            rail_reference: string;
            /** @description Equal to rail_reference for a payout on a chain; "" for any other payout */
            transaction_hash: string;
            /** @description What a canceled payout gave back to the balance; absent while it is not canceled, and where it was canceled before it ran */
            refund?: components["schemas"]["PayoutRefund"];
            /** @description As in the request; "" for a payout that runs when it is committed */
            scheduled_for: string;
            /** @description When it runs, by the cut-off and the business days of its payer: RFC 3339, UTC; "" without scheduled_for */
            runs_at: string;
            /** @description Until then it waits for funds, or for anything else that it lacks at runs_at, and is canceled afterwards: RFC 3339, UTC; "" without scheduled_for */
            runs_until: string;
            /** @description As in the request; absent without it */
            max_source_amount?: Decimal;
            /** @description As in the request; absent without it */
            min_destination_amount?: Decimal;
            /** @description What the balance lacks, while a SCHEDULED payout waits for funds */
            shortfall?: components["schemas"]["Shortfall"];
            /** @description Of a dry run only */
            dry_run?: components["schemas"]["QuoteDryRun"];
        };
        CredentialEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "credential.created" | "credential.updated" | "credential.revoked" | "credential.expiring";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["CredentialEventData"];
        };
        /** @description The credential, never with its secret */
        CredentialEventData: {
            /** @description The credential that changed */
            credential_id: string;
            /** @description client: client id and secret; api_key: a key */
            kind: string;
            /** @description What the credential may do */
            scopes: string[];
            /** @description Networks that may use it; empty: all */
            allowed_addresses: string[];
            /** @description UTC, without offset */
            created_on: string;
            /** @description UTC, without offset; "" if it does not expire */
            expires_on: string;
            /** @description UTC, without offset; "" while it is valid */
            revoked_on: string;
        };
        CredentialEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "credential.created" | "credential.updated" | "credential.revoked" | "credential.expiring";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["CredentialEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        /** @enum {string} */
        DeliveryResult: "delivered" | "failed" | "abandoned";
        /** @enum {string} */
        DeliveryType: "CASH_PICKUP" | "BANK_DEPOSIT" | "HOME_DELIVERY" | "MOBILE_WALLET" | "PAPER_CHECK" | "BILL" | "CRYPTOCURRENCY";
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
        DryCommitResult: {
            /** @description The payout */
            payout_token: string;
            /**
             * @description With `success`, where it waits until persons have approved it; else absent
             * @enum {string}
             */
            payout_status?: "HOLD";
            /** @description With payout_status: why */
            status_reason?: string;
            /**
             * @description The present status
             * @enum {string}
             */
            status: "success" | "failure" | "addtl_attr_req" | "ex_rate_expired";
            /** @description Eight digits for a cash pickup after the commit, else "" */
            pickup_code: string;
            /** @description What prevented it, in words; "" where nothing did */
            errors: string;
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code?: components["schemas"]["ObstacleCode"];
            /**
             * @description Who has to act
             * @enum {string}
             */
            actor?: "client" | "recipient" | "operator" | "payer";
            /** @description Whether the same request can succeed once the actor has acted, or after a while */
            retryable?: boolean;
            /** @description Empty where no detail is missing or wrong */
            missing?: components["schemas"]["MissingDetail"][];
            /** @description Of insufficient funds: what the balance lacks */
            shortfall?: components["schemas"]["Shortfall"];
        };
        DryRun: {
            /** @description The transfers that the commit would post; empty where it would be refused */
            postings: components["schemas"]["Posting"][];
            /** @description The balances that the commit would change; empty without the scope balance:read */
            balances: components["schemas"]["BalanceChange"][];
            /** @description The payer, and those that could take over from it; empty if it is offered no more */
            route: components["schemas"]["RouteCandidate"][];
            /** @description Why the committed payout would wait before it is sent: a person decides (`review`), the rail is down, the checks cannot run now, or the operator has stopped sending */
            holds: ("review" | "rail_unavailable" | "checks_unavailable" | "sending_stopped" | "account_frozen" | "corridor_frozen" | "rail_frozen")[];
            /** @description What each limit on the number or sum of payouts would have left after this one */
            limits: components["schemas"]["LimitHeadroom"][];
        };
        Erasure: {
            /** @description The recipient */
            user_token: string;
            /**
             * @description The present status
             * @enum {string}
             */
            status: "DEACTIVE";
            /** @description UTC, without offset */
            erased_at: string;
        };
        /** @description A change, in the order in which the changes of the account happened */
        Event: components["schemas"]["UserEvent"] | components["schemas"]["AttributesEvent"] | components["schemas"]["PayoutEvent"] | components["schemas"]["VerificationEvent"] | components["schemas"]["BalanceEvent"] | components["schemas"]["AccountEvent"] | components["schemas"]["AccountRestoredEvent"] | components["schemas"]["BatchEvent"] | components["schemas"]["CredentialEvent"] | components["schemas"]["ProposalEvent"] | components["schemas"]["WebhookEvent"] | components["schemas"]["WebhookDeliveryEvent"];
        /** @description An event of the account, with the object as it was after the change */
        EventMessage: components["schemas"]["UserEventMessage"] | components["schemas"]["AttributesEventMessage"] | components["schemas"]["PayoutEventMessage"] | components["schemas"]["VerificationEventMessage"] | components["schemas"]["BalanceEventMessage"] | components["schemas"]["AccountEventMessage"] | components["schemas"]["AccountRestoredEventMessage"] | components["schemas"]["BatchEventMessage"] | components["schemas"]["CredentialEventMessage"] | components["schemas"]["ProposalEventMessage"] | components["schemas"]["WebhookEventMessage"] | components["schemas"]["WebhookDeliveryEventMessage"];
        /** @enum {string} */
        EventTypeFilter: "user.created" | "user.updated" | "user.erased" | "attributes.stored" | "payout.pending" | "payout.scheduled" | "payout.processing" | "payout.hold" | "payout.error" | "payout.ready_for_pickup" | "payout.completed" | "payout.cancelled" | "payout.returned" | "verification.started" | "verification.submitted" | "verification.abandoned" | "verification.expired" | "verification.resubmitted" | "verification.declined" | "verification.approved" | "verification.resubmission_requested" | "verification.review" | "balance.funded" | "balance.adjusted" | "account.frozen" | "account.unfrozen" | "account.restored" | "batch.receiving" | "batch.draft" | "batch.quoted" | "batch.committing" | "batch.committed" | "batch.cancelled" | "batch.removed" | "credential.created" | "credential.updated" | "credential.revoked" | "credential.expiring" | "proposal.created" | "proposal.confirmed" | "proposal.declined" | "proposal.expired" | "webhook.paused" | "webhook.disabled" | "webhook.delivery_abandoned" | "user.*" | "attributes.*" | "payout.*" | "verification.*" | "balance.*" | "account.*" | "batch.*" | "credential.*" | "proposal.*" | "webhook.*";
        /** @enum {string} */
        ExceptionKind: "unmatched" | "unreadable" | "not_understood" | "report_missing" | "paid_after_refusal" | "accepted_after_refusal" | "paid_after_return" | "refused_after_payment" | "return_of_unpaid" | "excess_return" | "amount_differs" | "unknown_outcome" | "not_sent" | "routes_exhausted" | "price_worse" | "rail_missing" | "overdue" | "unscheduled" | "report_changed" | "recovered" | "approval" | "review";
        /** @enum {string} */
        ExclusionRule: "" | "tried_before" | "same_rail" | "rail_down" | "rate_unknown" | "rate_stale" | "price_stale" | "price_worse" | "below_minimum" | "above_maximum" | "currency_not_delivered" | "amount_too_small" | "amount_too_large" | "over_quoted_cost" | "needs_verification" | "details_missing" | "recipient_refused" | "named_another";
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
        Fault: {
            /** @description JSON Pointer (RFC 6901) into the body */
            pointer?: string;
            /** @description The parameter or header, instead of `pointer` */
            parameter?: string;
            /** @description The token of the attribute */
            token?: string;
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code: components["schemas"]["ProblemCode"];
            /** @description What is wrong, in words, for a person */
            detail: string;
        };
        Health: {
            /**
             * @description Always `ok` with 200
             * @enum {string}
             */
            status: "ok";
            /** @description What does not work although requests are served; readiness only */
            degraded?: string[];
        };
        HistoryRow: {
            /** @description The payout */
            token: string;
            /**
             * @description What kind of transaction it is
             * @enum {string}
             */
            type: "payout";
            /** @description UTC, without offset */
            time_of_txn: string;
            /** @description What leaves the balance, before the fee, in `source_currency_code` */
            source_amount: Decimal;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets, in `destination_currency_code` */
            destination_amount: Decimal;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description In the source currency, on top of `source_amount` */
            fee: Decimal;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description Eight digits for a cash pickup after the commit, else "" */
            pickup_code: string;
            /** @description The balance that pays */
            source_token: string;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The recipient */
            user_token: string;
        };
        /** @description Three images, one of each type. */
        IdImages: {
            /**
             * @description Which of the three images it is
             * @enum {string}
             */
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
            /** @description The verification session */
            session_id: string;
            /**
             * @description The status of the session after the decision
             * @enum {string}
             */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
        };
        IdentityDecisionRequest: {
            /** @description The session that was reviewed */
            session_id: string;
            /** @description The upload that was reviewed; 409 if there is a newer one */
            submission: number;
            /**
             * @description The decision about the identity
             * @enum {string}
             */
            decision: "approved" | "declined" | "resubmission_requested";
            /** @description The name of the reviewer */
            decided_by: string;
            /** @description The client sees it while the recipient is not approved */
            reason: string;
            /**
             * @description What the page tells the recipient, in the language of the recipient. Without it, the decision alone
             * @enum {string}
             */
            recipient_reason?: "dark" | "blurred" | "cut" | "glare" | "expired" | "unsupported" | "face_hidden" | "face_mismatch" | "data_mismatch";
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
        LedgerEntry: {
            /** @description The journal of this entry */
            token: string;
            /**
             * @description What moved the money
             * @enum {string}
             */
            type: "fund" | "adjust_credit" | "adjust_debit" | "commit" | "refund" | "return" | "reserve" | "release";
            /** @description Positive when the balance increased */
            amount: Decimal;
            /** @description The balance after this entry */
            balance_after: Decimal;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
            /** @description The ledger account of the opposite posting */
            counterpart: string;
            /** @description "" when it belongs to no payout */
            payout_token: string;
            /** @description The batch that the reserve is for; "" when it belongs to no batch */
            batch_token: string;
            /** @description UTC, without offset: YYYY-MM-DDThh:mm:ss */
            created_on: string;
        };
        LimitHeadroom: {
            /** @description As the operator has named the limit */
            name: string;
            /** @description Absent where the limit does not count payouts */
            count_left?: number;
            /** @description Absent where the limit has no sum */
            usd_left?: Decimal;
        };
        /** @enum {string} */
        MissingCode: "value_missing" | "identity_not_started" | "identity_in_review" | "identity_declined" | "identity_resubmission_requested" | "recipient_missing" | "recipient_invalid";
        MissingDetail: {
            /** @description The attribute; "" for a field of the recipient */
            token: string;
            /**
             * @description "" for a field of the recipient
             * @enum {string}
             */
            type: "" | "CardNumber" | "BankAccountType" | "BankAccountNumber" | "BankAccountBranchNumber" | "BankName" | "PhoneNumber" | "Gender" | "IdentificationNumber" | "BillReferenceNumber" | "BankRoutingNumber" | "BankAccountName" | "MaidenName" | "SocialSecurity" | "EmploymentName" | "EmploymentAddress" | "EmploymentPhone" | "EmploymentOccupation" | "EmploymentSupervisor" | "RemittanceReason" | "Relationship" | "SecondLastName" | "SWIFT" | "BirthCountry" | "SourceOfFunds" | "DateOfBirth" | "CardExpiration" | "CardZip" | "IdentificationType" | "BankCity" | "BankState" | "IDSelfieCollection" | "City" | "Country" | "IdentificationExpiration" | "Address1" | "PostalCode";
            /** @description The field of the recipient that PUT /user changes; "" for an attribute */
            field: string;
            /** @description Name of the attribute for a person */
            label: string;
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code: components["schemas"]["MissingCode"];
            /** @description A sentence that can be shown to a person */
            why: string;
            /** @description The options that need it: another option of the group does instead. Usually empty */
            alternatives: components["schemas"]["AttributeAlternative"][];
            /** @description Of an identity verification: where the recipient continues. "" where there is nothing to do, and for credentials without `kyc:write` */
            link: string;
        };
        NewRecipientLink: {
            /** @description Identifies the link; it opens nothing */
            link_token: string;
            /** @description The recipient */
            user_token: string;
            /**
             * @description What the recipient can do with it
             * @enum {string}
             */
            purpose: "payout_details" | "verification" | "payout_status";
            /**
             * @description The present status
             * @enum {string}
             */
            status: "OPEN" | "USED" | "REVOKED" | "EXPIRED";
            /** @description Of payout_details; else "" */
            destination_token: string;
            /** @description Of payout_details; else "" */
            currency: string;
            /** @description The set that gets a new version; of a used link the set that was stored. Else "" */
            attr_set_token: string;
            /** @description Of payout_status; else "" */
            payout_token: string;
            /** @description Of payout_status; else false */
            shows_pickup_code: boolean;
            /** @description Where the page leads at the end; "" for nowhere */
            redirect_url: string;
            /** @description UTC, without offset */
            created_on: string;
            /** @description UTC, without offset */
            expiration: string;
            /** @description When it was used or revoked, UTC; "" for neither */
            ended_on: string;
            /** @description For the recipient. Shown in this answer only */
            url: string;
        };
        NewWebhook: {
            /** @description HTTPS, at an address that is reachable from the internet */
            url: string;
            /**
             * @description Your own words about the endpoint
             * @default
             */
            description?: string;
            /**
             * @description Types of events, or prefixes like `payout.*`; all types if empty
             * @default []
             */
            event_types?: components["schemas"]["EventTypeFilter"][];
            /**
             * @description How deliveries are signed
             * @default hmac-sha256
             * @enum {string}
             */
            signature?: "hmac-sha256" | "ed25519";
        };
        Obstacle: {
            /** @description A stable code for programs; `/problems/{code}` explains it */
            code: components["schemas"]["ObstacleCode"];
            /**
             * @description Who has to act
             * @enum {string}
             */
            actor: "client" | "recipient" | "operator" | "payer";
            /** @description Whether the same request can succeed once the actor has acted, or after a while */
            retryable: boolean;
            /** @description Empty where no detail is missing or wrong */
            missing: components["schemas"]["MissingDetail"][];
            /** @description Of insufficient funds: what the balance lacks */
            shortfall?: components["schemas"]["Shortfall"];
            /** @description What is wrong, in words, for a person */
            detail: string;
        };
        /** @enum {string} */
        ObstacleCode: "duplicate_transfer" | "ex_rate_expired" | "payout_ended" | "account_frozen" | "commits_stopped" | "user_not_active" | "user_erased" | "attributes_missing" | "identity_not_started" | "identity_in_review" | "identity_declined" | "identity_resubmission_requested" | "recipient_missing" | "recipient_invalid" | "amount_refused" | "not_served" | "sender_incomplete" | "payee_no_match" | "no_balance_in_currency" | "insufficient_funds" | "below_minimum" | "above_maximum" | "amount_too_small" | "amount_too_large" | "currency_not_delivered" | "rates_unavailable" | "rail_unavailable" | "sending_stopped" | "corridor_frozen" | "rail_frozen" | "recovering";
        OtherWay: {
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description The company that pays out */
            company_name: string;
            /** @description The chain on which it pays; "" where it pays on none */
            network: string;
            /** @description Decimal, in the source currency; "" where it gives no price */
            fee: string;
            /** @description Decimal, all-in */
            exchange_rate: string;
            /** @description For operators: what its provider asks, where it quotes prices; the latest one, even if too old */
            provider_price: components["schemas"]["ProviderPrice"] | null;
            /**
             * @description Of its rail
             * @enum {string}
             */
            health: "up" | "degraded" | "down";
            /** @description As of the candidates; null without a price */
            score: Decimal | null;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description Decimal: what the source amount of the payout would become; "" without a price */
            destination_amount: string;
            /** @description Why it gives no price for the amount; "" where it gives one */
            detail: string;
        };
        PathLink: {
            /** @description The number of a link, or the sequence of its last event */
            place: string;
            /** @description Of the latest row of the link, microseconds since 1970 */
            created_us: string;
            /** @description Rows of the link */
            row_count: number;
            /** @description SHA-256, hexadecimal */
            digest: string;
        };
        PayeeCheck: {
            /**
             * @description What the bank of the account says; `not_possible` where it cannot be asked or did not answer, which blocks nothing
             * @enum {string}
             */
            outcome: "match" | "close_match" | "no_match" | "not_possible";
            /** @description Of `close_match`: the holder of the account as the bank names it. Else "" */
            suggested_name: string;
            /**
             * Format: date-time
             * @description When the bank was asked
             */
            checked_at: string;
        };
        Payout: {
            /** @description The payout */
            payout_token: string;
            /** @description The recipient */
            user_token: string;
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description The balance that pays */
            source_token: string;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            /** @description The set of stored attribute values that is used */
            attr_set_token: string;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate: Decimal;
            /** @description The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where only a rate agreed with the payer is known */
            mid_rate: Decimal;
            /** @description The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis points. Negative if the rate is better than the mid rate */
            margin: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description ISO 3166-1 alpha-3, such as MEX */
            country_code: string;
            /** @description Your own keys and values, unchanged */
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
            /** @description When it was quoted: RFC 3339, UTC */
            created_at: string;
            /** @description RFC 3339, UTC; "" before the commit */
            committed_at: string;
            /** @description When the payer reported it paid: RFC 3339, UTC; "" before. Stays when the money comes back */
            completed_at: string;
            /** @description When it became CANCELLED: RFC 3339, UTC; "" while it is not */
            canceled_at: string;
            /** @description Every status that it had, the oldest first, for as long as events are kept */
            timeline: components["schemas"]["PayoutTimelineEntry"][];
            /** @description Whether the client can still cancel it: only while it is SCHEDULED. A commit cannot be undone, and a quote that is not committed expires by itself */
            cancelable: boolean;
            /** @description What `fee` consists of; empty if there is none */
            fees: components["schemas"]["PayoutFee"][];
            /** @description What the commit takes from the balance, in the source currency: source_amount and fee */
            total_debit: Decimal;
            /** @description The chain of a cryptocurrency payout, such as bitcoin, litecoin, ethereum or, for a chain without a common name, its CAIP-2 identifier; "" for any other payout */
            network: string;
            /** @description The payment's identifier at the payer, to quote in inquiries; on a chain it is the transaction hash. "" until the payer has given one */
            rail_reference: string;
            /** @description Equal to rail_reference for a payout on a chain; "" for any other payout */
            transaction_hash: string;
            /** @description What a canceled payout gave back to the balance; absent while it is not canceled, and where it was canceled before it ran */
            refund?: components["schemas"]["PayoutRefund"];
            /** @description As in the request; "" for a payout that runs when it is committed */
            scheduled_for: string;
            /** @description When it runs, by the cut-off and the business days of its payer: RFC 3339, UTC; "" without scheduled_for */
            runs_at: string;
            /** @description Until then it waits for funds, or for anything else that it lacks at runs_at, and is canceled afterwards: RFC 3339, UTC; "" without scheduled_for */
            runs_until: string;
            /** @description As in the request; absent without it */
            max_source_amount?: Decimal;
            /** @description As in the request; absent without it */
            min_destination_amount?: Decimal;
            /** @description What the balance lacks, while a SCHEDULED payout waits for funds */
            shortfall?: components["schemas"]["Shortfall"];
        };
        PayoutDecision: {
            /** @description The payout */
            payout_token: string;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Decisions of the router, the first one first */
            decisions: {
                /** @description UTC, without offset; "" where nothing was sent yet */
                decided_at: string;
                /** @description What made another decision necessary; "" at first */
                refused_because: string;
                /** @description The payers that were compared */
                candidates: components["schemas"]["RouteCandidate"][];
            }[];
            /** @description UTC, without offset: the moment of the prices in other_ways */
            compared_at: string;
            /** @description The other payers of the country, with each currency they deliver, the cheapest first. The payout never changes to one of them: its recipient gave no details for it. */
            other_ways: components["schemas"]["OtherWay"][];
            /** @description Every attempt at a rail, the first one first */
            attempts: {
                /** @description The number of the attempt, from 1 */
                number: number;
                /** @description The rail that was called */
                rail: string;
                /** @description The payer, as its rail knows it */
                payer_key: string;
                /** @description Where the attempt stands */
                state: string;
                /** @description Why the rail did not pay; "" where it gave no reason */
                reason: string;
                /** @description The reference of the payer; "" where it gave none */
                provider_reference: string;
                /** @description When the attempt began, UTC */
                started_at: string;
                /** @description When the rail answered, UTC; "" while it has not */
                answered_at: string;
            }[];
            /** @description What the operator had or has to decide about the payout */
            exceptions: {
                /** @description What has to be decided; `/problems/{kind}` explains it */
                kind: components["schemas"]["ExceptionKind"];
                /** @description When it was opened, UTC */
                opened_at: string;
                /** @description When it was closed, UTC; "" while it is open */
                closed_at: string;
                /** @description How it was closed; "" while it is open */
                resolution: string;
            }[];
        };
        PayoutEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "payout.pending" | "payout.scheduled" | "payout.processing" | "payout.hold" | "payout.error" | "payout.ready_for_pickup" | "payout.completed" | "payout.cancelled" | "payout.returned";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["PayoutEventData"];
        };
        /** @description The payout as it was after the change */
        PayoutEventData: {
            /** @description The payout */
            payout_token: string;
            /** @description The recipient of the payout */
            user_token: string;
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description The balance that pays */
            source_token: string;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            /** @description The set of stored attribute values that is used */
            attr_set_token: string;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate: Decimal;
            /** @description The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where only a rate agreed with the payer is known */
            mid_rate: Decimal;
            /** @description The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis points. Negative if the rate is better than the mid rate */
            margin: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description ISO 3166-1 alpha-3, such as MEX */
            country_code: string;
            /** @description Your own keys and values, unchanged */
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
            /** @description When it was quoted: RFC 3339, UTC */
            created_at: string;
            /** @description RFC 3339, UTC; "" before the commit */
            committed_at: string;
            /** @description When the payer reported it paid: RFC 3339, UTC; "" before. Stays when the money comes back */
            completed_at: string;
            /** @description When it became CANCELLED: RFC 3339, UTC; "" while it is not */
            canceled_at: string;
            /** @description Every status that it had, the oldest first, for as long as events are kept */
            timeline: components["schemas"]["PayoutTimelineEntry"][];
            /** @description Whether the client can still cancel it: only while it is SCHEDULED. A commit cannot be undone, and a quote that is not committed expires by itself */
            cancelable: boolean;
            /** @description What `fee` consists of; empty if there is none */
            fees: components["schemas"]["PayoutFee"][];
            /** @description What the commit takes from the balance, in the source currency: source_amount and fee */
            total_debit: Decimal;
            /** @description The chain of a cryptocurrency payout, such as bitcoin, litecoin, ethereum or, for a chain without a common name, its CAIP-2 identifier; "" for any other payout */
            network: string;
            /** @description The payment's identifier at the payer, to quote in inquiries; on a chain it is the transaction hash. "" until the payer has given one */
            rail_reference: string;
            /** @description Equal to rail_reference for a payout on a chain; "" for any other payout */
            transaction_hash: string;
            /** @description What a canceled payout gave back to the balance; absent while it is not canceled, and where it was canceled before it ran */
            refund?: components["schemas"]["PayoutRefund"];
            /** @description As in the request; "" for a payout that runs when it is committed */
            scheduled_for: string;
            /** @description When it runs, by the cut-off and the business days of its payer: RFC 3339, UTC; "" without scheduled_for */
            runs_at: string;
            /** @description Until then it waits for funds, or for anything else that it lacks at runs_at, and is canceled afterwards: RFC 3339, UTC; "" without scheduled_for */
            runs_until: string;
            /** @description As in the request; absent without it */
            max_source_amount?: Decimal;
            /** @description As in the request; absent without it */
            min_destination_amount?: Decimal;
            /** @description What the balance lacks, while a SCHEDULED payout waits for funds */
            shortfall?: components["schemas"]["Shortfall"];
        };
        PayoutEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "payout.pending" | "payout.scheduled" | "payout.processing" | "payout.hold" | "payout.error" | "payout.ready_for_pickup" | "payout.completed" | "payout.cancelled" | "payout.returned";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["PayoutEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        PayoutFee: {
            /**
             * @description payout_fee: for the payout, by the tariff of its payer
             * @enum {string}
             */
            type: "payout_fee";
            /** @description Decimal, in currency_code */
            amount: Decimal;
            /** @description The source currency */
            currency_code: string;
        };
        PayoutProof: {
            /** @description The payout */
            payout_token: string;
            /** @description The account whose chain it is */
            account_id: string;
            /** @description The payout in the rows */
            payout_id: string;
            /** @description The links with its journals and events */
            links: components["schemas"]["ProvedLink"][];
        };
        PayoutRefund: {
            /** @description Credited to the balance so far, in currency_code. Before completion: source_amount and fee. After it: the part of source_amount that came back; the fee stays */
            amount: Decimal;
            /** @description The source currency */
            currency_code: string;
            /** @description When the payout was canceled: RFC 3339, UTC */
            time: string;
        };
        PayoutRequest: {
            /** @description Your own identifier; committed once, forever. Made up when absent */
            client_transfer_id?: string;
            /** @description Default USD */
            source_currency_code?: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
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
            /** @description When it is to run: RFC 3339 with an offset, or a date, which means the opening of that day at the destination. The answer shows in `runs_at` when it will. At most 365 days ahead */
            scheduled_for?: string;
            /** @description With scheduled_for and destination_amount: it does not run at a price above */
            max_source_amount?: Decimal;
            /** @description With scheduled_for and source_amount: it does not run at a price below */
            min_destination_amount?: Decimal;
        } & (({
            /** @description What leaves the balance, before the fee, in `source_currency_code` */
            source_amount: Decimal;
        } | {
            /** @description What the recipient gets, in `destination_currency_code` */
            destination_amount: Decimal;
        }) & ({
            /** @description The balance that pays */
            source_token: string;
        } | {
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
        }));
        /** @enum {string} */
        PayoutStatus: "PENDING" | "SCHEDULED" | "PROCESSING" | "HOLD" | "ERROR" | "READY_FOR_PICKUP" | "COMPLETED" | "CANCELLED";
        PayoutTimelineEntry: {
            /** @description The status from then on */
            status: components["schemas"]["PayoutStatus"];
            /** @description RFC 3339, UTC */
            time: string;
            /** @description Why it became HOLD, ERROR or CANCELLED, or stayed SCHEDULED; "" for any other status */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
        };
        PayoutWithPdf: {
            /** @description The payout */
            payout_token: string;
            /** @description The recipient */
            user_token: string;
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description The balance that pays */
            source_token: string;
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description Leaves the balance, before the fee */
            source_amount: Decimal;
            /** @description What the recipient gets */
            destination_amount: Decimal;
            /** @description The set of stored attribute values that is used */
            attr_set_token: string;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate: Decimal;
            /** @description The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where only a rate agreed with the payer is known */
            mid_rate: Decimal;
            /** @description The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis points. Negative if the rate is better than the mid rate */
            margin: Decimal;
            /** @description In the source currency, on top of source_amount */
            fee: Decimal;
            /** @description UTC, without offset; a commit is in time before it */
            expiration: string;
            /** @description "" until the commit of a cash pickup */
            pickup_code: string;
            /** @description The present status */
            status: components["schemas"]["PayoutStatus"];
            /** @description Why it has this status, in words; "" where there is nothing to say */
            status_reason: string;
            /** @description Why it is HOLD, ERROR or CANCELLED, overdue, or still SCHEDULED; "" where there is nothing to say */
            reason_code: components["schemas"]["ReasonCode"];
            /**
             * @description Who has to act for it to continue or, after CANCELLED, for the next one to succeed
             * @enum {string}
             */
            actor: "" | "client" | "recipient" | "operator" | "payer";
            /** @description Base64 PNG; "" unless include_payer_logo is true */
            payer_logo: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description ISO 3166-1 alpha-3, such as MEX */
            country_code: string;
            /** @description Your own keys and values, unchanged */
            metadata: {
                [key: string]: unknown;
            };
            /** @description RFC 3339, UTC */
            estimated_availability: string;
            /** @description Attribute type to value, numbers masked */
            attrs: {
                [key: string]: string;
            };
            /** @description When it was quoted: RFC 3339, UTC */
            created_at: string;
            /** @description RFC 3339, UTC; "" before the commit */
            committed_at: string;
            /** @description When the payer reported it paid: RFC 3339, UTC; "" before. Stays when the money comes back */
            completed_at: string;
            /** @description When it became CANCELLED: RFC 3339, UTC; "" while it is not */
            canceled_at: string;
            /** @description Every status that it had, the oldest first, for as long as events are kept */
            timeline: components["schemas"]["PayoutTimelineEntry"][];
            /** @description Whether the client can still cancel it: only while it is SCHEDULED. A commit cannot be undone, and a quote that is not committed expires by itself */
            cancelable: boolean;
            /** @description What `fee` consists of; empty if there is none */
            fees: components["schemas"]["PayoutFee"][];
            /** @description What the commit takes from the balance, in the source currency: source_amount and fee */
            total_debit: Decimal;
            /** @description The chain of a cryptocurrency payout, such as bitcoin, litecoin, ethereum or, for a chain without a common name, its CAIP-2 identifier; "" for any other payout */
            network: string;
            /** @description The payment's identifier at the payer, to quote in inquiries; on a chain it is the transaction hash. "" until the payer has given one */
            rail_reference: string;
            /** @description Equal to rail_reference for a payout on a chain; "" for any other payout */
            transaction_hash: string;
            /** @description What a canceled payout gave back to the balance; absent while it is not canceled, and where it was canceled before it ran */
            refund?: components["schemas"]["PayoutRefund"];
            /** @description As in the request; "" for a payout that runs when it is committed */
            scheduled_for: string;
            /** @description When it runs, by the cut-off and the business days of its payer: RFC 3339, UTC; "" without scheduled_for */
            runs_at: string;
            /** @description Until then it waits for funds, or for anything else that it lacks at runs_at, and is canceled afterwards: RFC 3339, UTC; "" without scheduled_for */
            runs_until: string;
            /** @description As in the request; absent without it */
            max_source_amount?: Decimal;
            /** @description As in the request; absent without it */
            min_destination_amount?: Decimal;
            /** @description What the balance lacks, while a SCHEDULED payout waits for funds */
            shortfall?: components["schemas"]["Shortfall"];
            /** @description Base64 PDF */
            content: string;
        };
        PendingIdentity: {
            /** @description The recipient */
            user_token: string;
            /** @description The verification session */
            session_id: string;
            /** @description The provider of the verification */
            provider: string;
            /**
             * @description The present status
             * @enum {string}
             */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
            /** @description The number of uploads so far */
            submission: number;
            /** @description When it started, UTC: YYYY-MM-DDThh:mm:ss */
            session_time: string;
            /** @description When it last changed, UTC: YYYY-MM-DDThh:mm:ss */
            updated_on: string;
            /** @description Decisions that wait for a second person */
            decisions: {
                /**
                 * @description The decision about the identity
                 * @enum {string}
                 */
                decision: "approved" | "declined" | "resubmission_requested";
                /** @description The name of the reviewer */
                decided_by: string;
            }[];
        };
        Posting: {
            /** @description An account of the ledger, such as `wallet` */
            from: string;
            /** @description The account that gets it */
            to: string;
            /** @description In the currency of the transfer */
            amount: Decimal;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
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
            /** @description A stable code for programs; that of a single fault */
            code: components["schemas"]["ProblemCode"];
            /** @description Quote it when you report the problem */
            request_id: string;
            /** @description With `duplicate_transfer`: the payout that was committed first */
            payout_token?: string;
            /** @description All faults; empty if `detail` is enough */
            errors: components["schemas"]["Fault"][];
        };
        /** @enum {string} */
        ProblemCode: "above_maximum" | "addtl_attr_req" | "already_used" | "amount_not_a_number" | "amount_not_positive" | "amount_refused" | "amount_too_large" | "amount_too_precise" | "amount_too_small" | "amounts_exclusive" | "animated_image" | "bank_mismatch" | "below_minimum" | "body_too_large" | "budget_exceeded" | "burn_address" | "card_number" | "cell_count" | "check_digit" | "checksum" | "clock_backwards" | "control_characters" | "cross_site_request" | "currency_mismatch" | "currency_not_delivered" | "damaged_image" | "dry_run_unsupported" | "duplicate" | "duplicate_transfer" | "empty_file" | "events_dropped" | "expectation_failed" | "expired" | "header_too_large" | "idempotency_in_progress" | "idempotency_key_reused" | "illegal_move" | "image_too_large" | "insufficient_scope" | "internal_error" | "invalid_base64" | "invalid_characters" | "invalid_cursor" | "invalid_encoding" | "invalid_header" | "invalid_length" | "invalid_request" | "invalid_type" | "invalid_value" | "legal_hold" | "login_failed" | "malformed_csv" | "malformed_http" | "malformed_json" | "method_not_allowed" | "missing_column" | "no_balance_in_currency" | "no_destination" | "not_a_bic" | "not_a_date" | "not_a_mobile_number" | "not_acceptable" | "not_found" | "not_served" | "open_quotes_exceeded" | "own_payout" | "parameters_exclusive" | "pattern_mismatch" | "payee_no_match" | "payout_changed" | "payouts_open" | "period_open" | "pix_key_mismatch" | "proposal_ended" | "proposal_refused" | "rate_limited" | "rates_unavailable" | "read_only" | "recipient_invalid" | "recipient_missing" | "recovering" | "repeated_attribute" | "repeated_column" | "repeated_in_file" | "request_timeout" | "required" | "role_not_permitted" | "row_too_long" | "second_factor_required" | "sender_incomplete" | "source_and_destination_exclusive" | "terms_changed" | "too_early" | "too_large" | "too_late" | "too_long" | "too_many_keys" | "too_short" | "too_young" | "trailing_data" | "unauthorized" | "unavailable" | "unknown_attr_set" | "unknown_attribute" | "unknown_bank" | "unknown_country" | "unknown_currency" | "unknown_destination" | "unknown_member" | "unknown_parameter" | "unknown_source" | "unknown_user" | "unknown_version" | "unsupported_image" | "unsupported_media_type" | "uri_too_long" | "user_erased" | "user_exists" | "user_mismatch" | "user_not_active";
        Proposal: {
            /** @description The proposal of a payout */
            proposal_token: string;
            /**
             * @description OPEN until a person confirms or declines it, or its quote expires
             * @enum {string}
             */
            status: "OPEN" | "CONFIRMED" | "DECLINED" | "EXPIRED";
            /** @description What the proposer gave as reason; "" after an erasure */
            reason: string;
            /** @description The credential that proposed */
            credential_id: string;
            /** @description UTC, without offset */
            created_on: string;
            /** @description Of the quote: UTC, without offset */
            expiration: string;
            /** @description UTC, without offset; "" until a decision */
            decided_on: string;
            /**
             * @description link: the page behind a link; api: the operation; "" until a decision
             * @enum {string}
             */
            decided_through: "" | "link" | "api";
            /** @description The credential that decided, or that got the link last; "" if there is none */
            decided_by: string;
            /** @description The payout */
            payout_token: string;
            /** @description The recipient */
            user_token: string;
            /** @description The present status of the payout */
            payout_status: components["schemas"]["PayoutStatus"];
            /** @description Your own identifier of the transfer; committed once, forever */
            client_transfer_id: string;
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description What leaves the balance, before the fee, in `source_currency_code` */
            source_amount: Decimal;
            /** @description In the source currency, on top of `source_amount` */
            fee: Decimal;
            /** @description source_amount and fee */
            total_debit: Decimal;
            /** @description What the recipient gets: ISO 4217 code or ticker */
            destination_currency_code: string;
            /** @description What the recipient gets, in `destination_currency_code` */
            destination_amount: Decimal;
            /** @description Destination currency per unit of the source currency, all-in */
            exchange_rate: Decimal;
            /** @description How the recipient gets the money */
            delivery_type: components["schemas"]["DeliveryType"];
            /** @description ISO 3166-1 alpha-3, such as MEX */
            country_code: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
        };
        ProposalDecision: {
            /**
             * @description CONFIRMED commits the payout
             * @enum {string}
             */
            decision: "CONFIRMED" | "DECLINED";
        };
        ProposalEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "proposal.created" | "proposal.confirmed" | "proposal.declined" | "proposal.expired";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["ProposalEventData"];
        };
        /** @description The proposal, never with its reason or its link */
        ProposalEventData: {
            /** @description The proposal that changed */
            proposal_token: string;
            /** @description The payout that is proposed */
            payout_token: string;
            /** @description The recipient of the payout */
            user_token: string;
            /**
             * @description After the change
             * @enum {string}
             */
            status: "OPEN" | "CONFIRMED" | "DECLINED" | "EXPIRED";
            /** @description The credential that proposed */
            credential_id: string;
            /** @description UTC, without offset */
            created_on: string;
            /** @description Of the quote: UTC, without offset */
            expiration: string;
            /** @description UTC, without offset; "" until a decision */
            decided_on: string;
            /** @description link or api; "" until a decision */
            decided_through: string;
            /** @description The credential that decided, or that got the link last; "" if there is none */
            decided_by: string;
        };
        ProposalEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "proposal.created" | "proposal.confirmed" | "proposal.declined" | "proposal.expired";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["ProposalEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        ProposalRequest: {
            /** @description Why it should be paid, for the person who decides */
            reason: string;
        };
        ProvedLink: {
            /**
             * @description Whose link it is
             * @enum {string}
             */
            chain: "ledger" | "events";
            /** @description The number of a link, or the sequence of its last event */
            place: string;
            /** @description Of the latest row of the link, microseconds since 1970 */
            created_us: string;
            /** @description The hash of the link before it; "" for the first one */
            previous: string;
            /** @description All rows of the link, in their order */
            rows: components["schemas"]["ProvedRow"][];
            /** @description The links after it, to the one that is signed */
            path: components["schemas"]["PathLink"][];
            /** @description A signed head of the chain */
            checkpoint: components["schemas"]["Checkpoint"];
        };
        ProvedRow: {
            /** @description SHA-256, hexadecimal */
            row_hash: string;
            /** @description The journal or event as it was hashed; absent where it is of another payout */
            row?: {
                [key: string]: string;
            };
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
            face_similarity: Decimal | null;
            /**
             * @description Only from a capture of the provider itself; one still cannot show it
             * @enum {string}
             */
            liveness: "not_checked" | "passed" | "failed";
        };
        ProviderPrice: {
            /** @description Of the balance at the provider */
            source_currency: string;
            /** @description Decimal, all-in, without the margin of this service */
            exchange_rate: string;
            /** @description Decimal, in source_currency; "" where it covers no such amount */
            fee: string;
            /** @description RFC 3339, UTC: when it was read */
            as_of: string;
            /** @description Its age at the decision */
            age_seconds: number;
        };
        QuoteDryRun: {
            /** @description The transfers that the commit would post; empty where it would be refused */
            postings: components["schemas"]["Posting"][];
            /** @description The balances that the commit would change; empty without the scope balance:read */
            balances: components["schemas"]["BalanceChange"][];
            /** @description The payer, and those that could take over from it; empty if it is offered no more */
            route: components["schemas"]["RouteCandidate"][];
            /** @description Why the committed payout would wait before it is sent: a person decides (`review`), the rail is down, the checks cannot run now, or the operator has stopped sending */
            holds: ("review" | "rail_unavailable" | "checks_unavailable" | "sending_stopped" | "account_frozen" | "corridor_frozen" | "rail_frozen")[];
            /** @description What each limit on the number or sum of payouts would have left after this one */
            limits: components["schemas"]["LimitHeadroom"][];
            /** @description What its commit would answer now */
            commit: components["schemas"]["DryCommitResult"];
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
        Readiness: {
            /** @description Whether nothing stands in the way now; it reserves nothing */
            payable: boolean;
            /** @description All obstacles to a payout; empty if `payable` */
            obstacles: components["schemas"]["Obstacle"][];
            /** @description What does not stand in the way, and a person should look at before the commit */
            warnings: components["schemas"]["ReadinessWarning"][];
            /** @description The currency of the balance that pays */
            source_currency_code: string;
            /** @description Indicative, like fee: absent without an amount, or where there is no price */
            source_amount?: Decimal;
            /** @description In the source currency, on top of `source_amount` */
            fee?: Decimal;
        };
        ReadinessWarning: {
            /**
             * @description A stable code for programs; `/problems/{code}` explains it
             * @enum {string}
             */
            code: "payee_no_match" | "payee_close_match";
            /** @description What is wrong, in words, for a person */
            detail: string;
        };
        /** @enum {string} */
        ReasonCode: "" | "outcome_unknown" | "not_sent" | "under_review" | "conflicting_reports" | "payer_not_configured" | "overdue" | "routes_exhausted" | "sending_stopped" | "corridor_frozen" | "rail_frozen" | "needs_approval" | "decided_by_operator" | "not_approved" | "account_not_found" | "account_closed" | "account_blocked" | "account_not_creditable" | "invalid_details" | "name_mismatch" | "recipient_deceased" | "recipient_refused" | "not_collected" | "amount_refused" | "currency_refused" | "compliance" | "duplicate" | "no_funds" | "payer_unavailable" | "payer_refused" | "price_worse" | "payer_error" | "sent_back" | "recalled" | "cancelled" | "replaced" | "unreachable" | "busy" | "no_answer" | "not_understood" | "not_configured" | "not_readable" | "daily_limit" | "travel_rule_incomplete" | "travel_rule_pending" | "review" | "other" | "waiting_for_funds" | "funds_did_not_arrive" | "price_out_of_bounds" | "account_frozen" | "user_not_active" | "attributes_missing" | "identity_not_verified" | "recipient_invalid" | "rates_unavailable" | "not_served" | "cancelled_by_client";
        ReceiptKeySet: {
            /** @description The newest first */
            keys: {
                /**
                 * @description The type of the key: an octet key pair (RFC 8037)
                 * @constant
                 */
                kty: "OKP";
                /**
                 * @description The curve
                 * @constant
                 */
                crv: "Ed25519";
                /**
                 * @description It signs
                 * @constant
                 */
                use: "sig";
                /**
                 * @description The algorithm of its signatures
                 * @constant
                 */
                alg: "EdDSA";
                /** @description As the `key_id` of receipts and proofs */
                kid: string;
                /** @description The public key, Base64url */
                x: string;
                /** @description From when on the environment signed with it (RFC 3339) */
                since: string;
                /** @description Until when; null for the present key. A signature of a later date is forged */
                until: string | null;
            }[];
        };
        RecipientLink: {
            /** @description Identifies the link; it opens nothing */
            link_token: string;
            /** @description The recipient */
            user_token: string;
            /**
             * @description What the recipient can do with it
             * @enum {string}
             */
            purpose: "payout_details" | "verification" | "payout_status";
            /**
             * @description The present status
             * @enum {string}
             */
            status: "OPEN" | "USED" | "REVOKED" | "EXPIRED";
            /** @description Of payout_details; else "" */
            destination_token: string;
            /** @description Of payout_details; else "" */
            currency: string;
            /** @description The set that gets a new version; of a used link the set that was stored. Else "" */
            attr_set_token: string;
            /** @description Of payout_status; else "" */
            payout_token: string;
            /** @description Of payout_status; else false */
            shows_pickup_code: boolean;
            /** @description Where the page leads at the end; "" for nowhere */
            redirect_url: string;
            /** @description UTC, without offset */
            created_on: string;
            /** @description UTC, without offset */
            expiration: string;
            /** @description When it was used or revoked, UTC; "" for neither */
            ended_on: string;
        };
        RecipientLinkRequest: {
            /**
             * @description `payout_details`: the attributes of a destination; needs users:write. `verification`: the identity check; needs kyc:write. `payout_status`: one payout; needs payouts:read
             * @enum {string}
             */
            purpose: "payout_details" | "verification" | "payout_status";
            /** @description Required for payout_details */
            destination_token?: string;
            /** @description Required for payout_details */
            currency?: string;
            /** @description For payout_details: the set that gets a new version; a new set without it */
            attr_set_token?: string;
            /** @description Required for payout_status */
            payout_token?: string;
            /**
             * @description For payout_status: anyone with the link sees the code with which the money can be collected
             * @default false
             */
            shows_pickup_code?: boolean;
            /** @description Default: 3 days for payout_details, 7 for verification, 30 for payout_status */
            expires_in_seconds?: number;
            /**
             * @description Where the page leads the recipient when all is done
             * @default
             */
            redirect_url?: string;
        };
        RevocationRequest: {
            /** @description An access token of the client, or an API key of its account */
            token: string;
            /** @description Not needed: the token says what it is */
            token_type_hint?: string;
            /** @description Unless it is sent by HTTP Basic */
            client_id?: string;
            /** @description Unless it is sent by HTTP Basic */
            client_secret?: string;
        };
        RouteCandidate: {
            /** @description The payer and delivery, from the country look-up */
            destination_token: string;
            /** @description The payer, as a recipient knows it */
            payer_name: string;
            /** @description The company that pays out */
            company_name: string;
            /** @description The chain on which it pays; "" where it pays on none */
            network: string;
            /** @description Decimal, in the source currency; "" where it gives no price */
            fee: string;
            /** @description Decimal, all-in */
            exchange_rate: string;
            /** @description Source amount and fee for the promised destination amount */
            cost: string;
            /** @description Decimal, in USD; "0" is no bound */
            min_limit_usd: string;
            /** @description "0" is no bound */
            max_limit_usd: string;
            /**
             * @description How the rail of the payer answers at the moment
             * @enum {string}
             */
            health: "up" | "degraded" | "down";
            /** @description Measured; null with too few payouts */
            availability_percent: Decimal | null;
            /** @description Measured, 0 to 5; null with too few payouts */
            rating: Decimal | null;
            /** @description What the router compares, the highest wins; null where excluded */
            score: Decimal | null;
            /** @description For operators: what its provider asks, where it quotes prices; the latest one, even if too old */
            provider_price: components["schemas"]["ProviderPrice"] | null;
            /** @description Whether the payout goes through it */
            is_chosen: boolean;
            /** @description The rule that excluded it; "" for the one that was chosen */
            excluded_by: components["schemas"]["ExclusionRule"];
            /** @description Figures of the rule that excluded it, in words */
            detail: string;
        };
        SandboxAccount: {
            /** @description The name of the account */
            account: string;
            /** @description The identifier of the new client */
            client_id: string;
            /** @description The secret of the new client; shown once */
            client_secret: string;
            /** @description A long-lived credential; shown once */
            api_key: string;
        };
        SandboxAccountRequest: {
            /** @description A name for the account */
            name: string;
        };
        SandboxClock: {
            /** @description RFC 3339, UTC, milliseconds */
            now: string;
        };
        SandboxClockMove: {
            /** @description Seconds by which the clock moves forward */
            advance_s?: number;
            /** @description RFC 3339, ending in Z */
            to?: string;
        } & ({
            /** @description Seconds by which the clock moves forward */
            advance_s: number;
        } | {
            /** @description The new time: RFC 3339, ending in Z */
            to: string;
        });
        SandboxDecision: {
            /**
             * @description The decision about the identity
             * @enum {string}
             */
            decision: "approved" | "declined";
        };
        SandboxDecisionApplied: {
            /** @description The recipient */
            user_token: string;
            /** @description The decision about the identity */
            decision: string;
        };
        SandboxFunding: {
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
            /** @description What is added to the balance */
            amount: Decimal;
        };
        SandboxOutcome: {
            /**
             * @description What the simulated payer does next
             * @enum {string}
             */
            outcome: "ready_for_pickup" | "completed" | "rejected" | "returned" | "unknown";
        };
        SandboxOutcomeApplied: {
            /** @description The payout */
            payout_token: string;
            /** @description What the simulated payer does next */
            outcome: string;
        };
        ServedCountry: {
            /** @description ISO 3166-1 alpha-3 */
            country_code: string;
            /** @description Name of the country in English */
            country_name: string;
            /** @description ISO 3166-1 alpha-2 */
            code: string;
            /** @description Equal to country_code */
            three_letter_code: string;
            /** @description Equal to country_name */
            name: string;
            /** @description Currencies that can be delivered: ISO 4217 codes and tickers */
            currencies: string[];
            /** @description How recipients in the country can get money */
            delivery_types: components["schemas"]["DeliveryType"][];
        };
        Service: {
            /** @description The name of the software */
            name: string;
            /** @description What it is for */
            description: string;
            /**
             * @description Where this address leads
             * @enum {string}
             */
            environment: "live" | "staging";
            /** @description The versions of the API */
            versions: string[];
            /** @description Whether requests can be served */
            health: string;
            /** @description This description as a page */
            reference: string;
            /** @description This description */
            openapi: string;
            /** @description Where access tokens are issued */
            token_endpoint: string;
            /** @description Documents for integrators */
            guides: {
                /** @description What the guide is about */
                title: string;
                /** @description Its address */
                url: string;
            }[];
            /** @description A command to begin with */
            first_call: string;
        };
        Shortfall: {
            /** @description What the balance lacks, an exact decimal */
            amount: Decimal;
            /** @description ISO 4217 code, or the ticker of a cryptocurrency */
            currency_code: string;
        };
        Statement: {
            /** @description The same whenever this balance and period are read */
            statement_id: string;
            /** @description The balance, as listBalances has it */
            balance_token: string;
            /** @description Of all amounts; ISO 4217, or the ticker of a cryptocurrency */
            currency_code: string;
            /** @description The first day, UTC */
            from_date: string;
            /** @description The last day, UTC */
            to_date: string;
            /** @description The end of the period, UTC: when the statement was final */
            created_on: string;
            /** @description The closing balance of the day before */
            opening_balance: Decimal;
            /** @description Entries that increased the balance */
            credit_count: number;
            /** @description Their sum */
            credit_total: Decimal;
            /** @description Entries that decreased the balance */
            debit_count: number;
            /** @description Their sum, not negative */
            debit_total: Decimal;
            /** @description opening_balance + credit_total - debit_total, and what the last entry left */
            closing_balance: Decimal;
            /** @description In the order of posting */
            entries: components["schemas"]["StatementEntry"][];
        };
        StatementEntry: {
            /** @description Unique in the account: the `token` of the journal without dashes, and its line */
            entry_reference: string;
            /** @description When it was posted, UTC */
            booking_time: string;
            /** @description The day from which the money counts: that of the posting */
            value_date: string;
            /**
             * @description The kind of journal that posted it
             * @enum {string}
             */
            type: "fund" | "adjust_credit" | "adjust_debit" | "commit" | "refund" | "return" | "reserve" | "release";
            /** @description The ledger account of the opposite posting: `fees` where the entry is a fee */
            counterpart: string;
            /**
             * @description CRDT: the balance increased; DBIT: it decreased
             * @enum {string}
             */
            credit_debit_indicator: "CRDT" | "DBIT";
            /** @description Exact, never negative */
            amount: Decimal;
            /** @description The balance that the entry left */
            balance_after: Decimal;
            /** @description "" when it belongs to no payout */
            payout_token: string;
            /** @description "" when it belongs to no batch */
            batch_token: string;
            /** @description Your identifier of the payout; "" when it belongs to none */
            client_transfer_id: string;
        };
        StoredAttributes: {
            /** @description The set that now holds the values */
            attr_set_token: string;
            /** @description What a payout to this destination still needs; empty if the set is complete */
            missing: components["schemas"]["MissingDetail"][];
            /** @description All values of the set as they are stored, in their normalized form */
            values: {
                /** @description The attribute that is missing */
                token: string;
                /** @description The value as stored, in its normalized form */
                value: string;
            }[];
        };
        TestMessage: {
            /**
             * @description No event of the account
             * @constant
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
            /** @description The webhook that is tested */
            data: {
                /** @description The webhook */
                webhook_token: string;
            };
        };
        TokenError: {
            /**
             * @description The code of RFC 6749 5.2
             * @enum {string}
             */
            error: "invalid_request" | "invalid_client" | "invalid_scope" | "unsupported_grant_type";
            /** @description What is wrong, in words, for a person */
            error_description: string;
        };
        TokenRequest: {
            /**
             * @description The grant (RFC 6749 4.4)
             * @enum {string}
             */
            grant_type: "client_credentials";
            /** @description Either here or as the user name of HTTP Basic */
            client_id?: string;
            /** @description Either here or as the password of HTTP Basic */
            client_secret?: string;
            /** @description A subset of the scopes of the client, separated by spaces; all by default */
            scope?: string;
        };
        User: {
            /** @description The recipient */
            user_token: string;
            /**
             * @description Only an ACTIVE user can be paid
             * @enum {string}
             */
            status: "ACTIVE" | "LOCKED" | "DEACTIVE";
            /** @description UTC, without offset */
            created_on: string;
            /** @description Your own identifier of the user */
            internal_user_id: string;
            /** @description First line of the address */
            address1: string;
            /** @description Second line of the address */
            address2: string;
            /** @description City of the address */
            city: string;
            /** @description State or province of the address */
            state_province: string;
            /** @description Postal code of the address */
            postal_code: string;
            /** @description ISO 3166-1 alpha-3 */
            country: string;
            /** @description First name */
            first_name: string;
            /** @description Middle name; "" where there is none */
            middle_name: string;
            /** @description Last name */
            last_name: string;
            /** @description E-mail address */
            email: string;
            /** @description ISO 639-1; of messages to the user */
            language: string;
            /** @description Digits only */
            mobile_number: string;
            /** @description Name of the business, for business recipients; "" for persons */
            business_name: string;
            /** @description An IANA time zone name */
            timezone: string;
            /** @description YYYY-MM-DD; "" if unknown */
            date_of_birth: string;
            /** @description Your own keys and values, unchanged */
            metadata: {
                [key: string]: unknown;
            };
            /** @description UTC, without offset. Of an erased user only: its other texts are "" then */
            erased_at?: string;
        };
        UserChanges: {
            /** @description Your own identifier of the user; unique in the account */
            internal_user_id?: string;
            /** @description ISO 3166-1 alpha-3 */
            country?: string;
            /** @description First name */
            first_name?: string;
            /** @description Last name */
            last_name?: string;
            /** @description Unique in the account */
            email?: string;
            /** @description Middle name; "" where there is none */
            middle_name?: string;
            /** @description Name of the business, for business recipients; "" for persons */
            business_name?: string;
            /** @description First line of the address */
            address1?: string;
            /** @description Second line of the address */
            address2?: string;
            /** @description City of the address */
            city?: string;
            /** @description State or province of the address */
            state_province?: string;
            /** @description Postal code of the address */
            postal_code?: string;
            /** @description With the country code. Stored as digits only, without + and separators */
            mobile_number?: string;
            /** @description YYYY-MM-DD, from 1900-01-01 on and at least eighteen years ago */
            date_of_birth?: string;
            /** @description ISO 639-1; of messages to the user. Default en */
            language?: string;
            /** @description An IANA name such as America/Mexico_City. Default: the time zone of the country */
            timezone?: string;
            /** @description Your own keys and values, unchanged */
            metadata?: {
                [key: string]: unknown;
            };
        };
        UserEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "user.created" | "user.updated" | "user.erased";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["UserEventData"];
        };
        /** @description The user; only token and status without the scope users:read, and after an erasure */
        UserEventData: {
            /** @description The user that changed */
            user_token: string;
            /**
             * @description The status after the change
             * @enum {string}
             */
            status: "ACTIVE" | "LOCKED" | "DEACTIVE";
            /** @description UTC, without offset */
            created_on?: string;
            /** @description Your own identifier of the user */
            internal_user_id?: string;
            /** @description First line of the address */
            address1?: string;
            /** @description Second line of the address */
            address2?: string;
            /** @description City of the address */
            city?: string;
            /** @description State or province of the address */
            state_province?: string;
            /** @description Postal code of the address */
            postal_code?: string;
            /** @description ISO 3166-1 alpha-3 */
            country?: string;
            /** @description First name */
            first_name?: string;
            /** @description Middle name; "" where there is none */
            middle_name?: string;
            /** @description Last name */
            last_name?: string;
            /** @description E-mail address */
            email?: string;
            /** @description ISO 639-1; of messages to the user */
            language?: string;
            /** @description Digits only */
            mobile_number?: string;
            /** @description Name of the business, for business recipients; "" for persons */
            business_name?: string;
            /** @description An IANA time zone name */
            timezone?: string;
            /** @description YYYY-MM-DD; "" if unknown */
            date_of_birth?: string;
            /** @description Your own keys and values, unchanged */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description UTC, without offset. Of an erased user only: its other texts are "" then */
            erased_at?: string;
        };
        UserEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "user.created" | "user.updated" | "user.erased";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["UserEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        UserLookup: {
            /** @description The recipient */
            user_token: string;
            /** @description First name */
            first_name: string;
            /** @description Last name */
            last_name: string;
            /** @description Your own identifier of the user */
            internal_user_id: string;
        };
        UserRequest: {
            /** @description Your own identifier of the user; unique in the account */
            internal_user_id: string;
            /** @description ISO 3166-1 alpha-3 */
            country: string;
            /** @description First name */
            first_name: string;
            /** @description Last name */
            last_name: string;
            /** @description Unique in the account */
            email: string;
            /** @description Middle name; "" where there is none */
            middle_name?: string;
            /** @description Name of the business, for business recipients; "" for persons */
            business_name?: string;
            /** @description First line of the address */
            address1?: string;
            /** @description Second line of the address */
            address2?: string;
            /** @description City of the address */
            city?: string;
            /** @description State or province of the address */
            state_province?: string;
            /** @description Postal code of the address */
            postal_code?: string;
            /** @description With the country code. Stored as digits only, without + and separators */
            mobile_number?: string;
            /** @description YYYY-MM-DD, from 1900-01-01 on and at least eighteen years ago */
            date_of_birth?: string;
            /** @description ISO 639-1; of messages to the user. Default en */
            language?: string;
            /** @description An IANA name such as America/Mexico_City. Default: the time zone of the country */
            timezone?: string;
            /** @description Your own keys and values, unchanged */
            metadata?: {
                [key: string]: unknown;
            };
        };
        VerificationEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "verification.started" | "verification.submitted" | "verification.abandoned" | "verification.expired" | "verification.resubmitted" | "verification.declined" | "verification.approved" | "verification.resubmission_requested" | "verification.review";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["VerificationEventData"];
        };
        /** @description The verification session */
        VerificationEventData: {
            /** @description The user who is verified */
            user_token: string;
            /** @description The verification session that changed */
            session_id: string;
            /** @description The status of the session after the change */
            status: string;
        };
        VerificationEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "verification.started" | "verification.submitted" | "verification.abandoned" | "verification.expired" | "verification.resubmitted" | "verification.declined" | "verification.approved" | "verification.resubmission_requested" | "verification.review";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["VerificationEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        VerificationSession: {
            /**
             * @description The provider of the verification.
             * @example outlay
             */
            provider: string;
            /** @description The verification session */
            session_id: string;
            /** @description When it started, UTC: YYYY-MM-DDThh:mm:ss. */
            session_time: string;
            /**
             * @description The present status
             * @enum {string}
             */
            status: "Started" | "Submitted" | "Abandoned" | "Expired" | "Resubmitted" | "Declined" | "Approved" | "Resubmission requested" | "Review";
        };
        Webhook: {
            /** @description The webhook */
            webhook_token: string;
            /** @description Where events are sent */
            url: string;
            /** @description Your own words about the endpoint */
            description: string;
            /** @description Empty for all types */
            event_types: string[];
            /**
             * @description Only ENABLED gets events; PAUSED and DISABLED miss none: resume it to get them
             * @enum {string}
             */
            status: "ENABLED" | "PAUSED" | "DISABLED";
            /** @description Why it is paused or disabled */
            status_reason: string;
            /**
             * @description How deliveries are signed
             * @enum {string}
             */
            signature: "hmac-sha256" | "ed25519";
            /** @description whpk_…; empty for hmac-sha256 */
            public_key: string;
            /** @description Until then the secret before the last rotation signs too; empty if it does not */
            previous_secret_until: string;
            /** @description The first failure since the last success; empty if none */
            failing_since: string;
            /** @description When a failed delivery is due again; empty if none is */
            next_attempt_on: string;
            /** @description Events that are not sent yet, those of other types included */
            backlog: number;
            /** @description The last sequence of a replay under way; 0 without one */
            replaying_until: number;
            /** @description UTC, without offset */
            created_on: string;
        };
        WebhookAnswer: {
            /** @description The header Content-Type of the answer */
            content_type: string;
            /** @description The first 1,024 bytes */
            body: string;
        };
        WebhookChange: {
            /** @description HTTPS, at an address that is reachable from the internet */
            url?: string;
            /** @description Your own words about the endpoint */
            description?: string;
            /** @description Types of events, or prefixes like `payout.*`; all types if empty */
            event_types?: components["schemas"]["EventTypeFilter"][];
        };
        WebhookDelivery: {
            /** @description One request to the endpoint */
            delivery_token: string;
            /** @description The header webhook-id: the same for every try about an event */
            webhook_id: string;
            /**
             * @description Why it was sent
             * @enum {string}
             */
            kind: "event" | "replay" | "test";
            /** @description Of the event; 0 for a test */
            sequence: number;
            /** @description Of the event */
            type: string;
            /** @description 1 for the first request about the event */
            try: number;
            /** @description failed: tried again at `retry_on`, except for a test; abandoned: not tried again */
            result: components["schemas"]["DeliveryResult"];
            /** @description 0 if there was no answer */
            status_code: number;
            /** @description Why it failed */
            error: string;
            /** @description Milliseconds from the request to the answer */
            duration_ms: number;
            /** @description UTC, without offset */
            created_on: string;
            /** @description Empty if it is not tried again */
            retry_on: string;
        };
        WebhookDeliveryDetail: {
            /** @description One request to the endpoint */
            delivery_token: string;
            /** @description The header webhook-id: the same for every try about an event */
            webhook_id: string;
            /**
             * @description Why it was sent
             * @enum {string}
             */
            kind: "event" | "replay" | "test";
            /** @description Of the event; 0 for a test */
            sequence: number;
            /** @description Of the event */
            type: string;
            /** @description 1 for the first request about the event */
            try: number;
            /** @description failed: tried again at `retry_on`, except for a test; abandoned: not tried again */
            result: components["schemas"]["DeliveryResult"];
            /** @description 0 if there was no answer */
            status_code: number;
            /** @description Why it failed */
            error: string;
            /** @description Milliseconds from the request to the answer */
            duration_ms: number;
            /** @description UTC, without offset */
            created_on: string;
            /** @description Empty if it is not tried again */
            retry_on: string;
            /** @description What was sent */
            request: components["schemas"]["WebhookRequest"];
            /** @description What the endpoint answered */
            answer: components["schemas"]["WebhookAnswer"];
        };
        WebhookDeliveryEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "webhook.delivery_abandoned";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["WebhookDeliveryEventData"];
        };
        /** @description The delivery that is abandoned */
        WebhookDeliveryEventData: {
            /** @description The endpoint that did not accept an event */
            webhook_token: string;
            /** @description The last request, in the log of the webhook */
            delivery_token: string;
            /** @description Of the event that is not sent again; a replay sends it */
            sequence: number;
            /** @description Of that event; "" if it was no longer kept */
            event_type: string;
            /** @description How often it was sent */
            tries: number;
            /** @description Of the last answer; 0 if there was none */
            status_code: number;
            /** @description Why the last request failed, in words */
            error: string;
        };
        WebhookDeliveryEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "webhook.delivery_abandoned";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["WebhookDeliveryEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        WebhookEvent: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "webhook.paused" | "webhook.disabled";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /** @description UTC, without offset */
            created_on: string;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["WebhookEventData"];
        };
        /** @description The endpoint that gets no more events */
        WebhookEventData: {
            /** @description The endpoint that events are no longer sent to */
            webhook_token: string;
            /** @description PAUSED: it failed for 14 days; DISABLED: it answered 410 */
            status: string;
            /** @description Why, in words */
            status_reason: string;
        };
        WebhookEventMessage: {
            /**
             * @description What happened
             * @enum {string}
             */
            type: "webhook.paused" | "webhook.disabled";
            /** @description Begins with 1 and has no gaps within the account, except before `account.restored` */
            sequence: number;
            /**
             * @description Of data. Grows when a member changes or goes, not when one is added
             * @constant
             */
            schema_version: 1;
            /** @description The token of the object that changed */
            object: string;
            /** @description Begins with 1 and has no gaps within the object, as long as its events are kept */
            object_sequence: number;
            /** @description The object as it was after the change */
            data: components["schemas"]["WebhookEventData"];
            /**
             * Format: date-time
             * @description When the change happened, UTC, to the second
             */
            timestamp: string;
        };
        WebhookReplay: {
            /** @description Events that the endpoint gets again */
            count: number;
            /** @description The first sequence; 0 if there is none */
            from: number;
            /** @description The last sequence; 0 if there is none */
            to: number;
            /** @description Whether the events were only counted */
            dry_run: boolean;
        };
        WebhookReplayRequest: {
            /** @description The first sequence */
            from?: number;
            /** @description The last sequence; default: the newest event */
            to?: number;
            /** @description Instead of sequences, or as well: the first day or second, UTC */
            since?: string;
            /** @description The last day or second, UTC */
            until?: string;
            /**
             * @description Of the types of the webhook; default: all
             * @default []
             */
            event_types?: components["schemas"]["EventTypeFilter"][];
            /**
             * @description Counts the events, and sends nothing
             * @default false
             */
            dry_run?: boolean;
        } | {
            /** @description The first sequence */
            from: number;
        } | {
            /** @description The first day or second, UTC */
            since: string;
        };
        WebhookRequest: {
            /** @description Where it was sent */
            url: string;
            /** @description Empty once the event is no longer kept */
            body: string;
        };
        WebhookRotation: {
            /**
             * @description Default: as before
             * @enum {string}
             */
            signature?: "hmac-sha256" | "ed25519";
            /** @description Default 24; 0: the old secret is compromised */
            overlap_hours?: number;
        };
        WebhookTest: {
            /** @description Of the delivery that the log will have within seconds */
            delivery_token: string;
        };
        WebhookWithSecret: {
            /** @description The webhook */
            webhook_token: string;
            /** @description Where events are sent */
            url: string;
            /** @description Your own words about the endpoint */
            description: string;
            /** @description Empty for all types */
            event_types: string[];
            /**
             * @description Only ENABLED gets events; PAUSED and DISABLED miss none: resume it to get them
             * @enum {string}
             */
            status: "ENABLED" | "PAUSED" | "DISABLED";
            /** @description Why it is paused or disabled */
            status_reason: string;
            /**
             * @description How deliveries are signed
             * @enum {string}
             */
            signature: "hmac-sha256" | "ed25519";
            /** @description whpk_…; empty for hmac-sha256 */
            public_key: string;
            /** @description Until then the secret before the last rotation signs too; empty if it does not */
            previous_secret_until: string;
            /** @description The first failure since the last success; empty if none */
            failing_since: string;
            /** @description When a failed delivery is due again; empty if none is */
            next_attempt_on: string;
            /** @description Events that are not sent yet, those of other types included */
            backlog: number;
            /** @description The last sequence of a replay under way; 0 without one */
            replaying_until: number;
            /** @description UTC, without offset */
            created_on: string;
            /** @description whsec_…; shown in this answer only. Empty for ed25519: verify with public_key */
            secret: string;
        };
    };
}
export interface operations {
    listBalances: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Balance"][];
                };
            };
        };
    };
    listBalanceEntries: {
        parameters: {
            query?: {
                /**
                 * @description Rows per page
                 * @example 10
                 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Only entries of this type */
                type?: "fund" | "adjust_credit" | "adjust_debit" | "commit" | "refund" | "return" | "reserve" | "release";
                /** @description Posted then or later, UTC */
                from?: string;
                /** @description Posted by then, the day or second included */
                to?: string;
            };
            path: {
                /**
                 * @description A balance of the account, from `GET /account/balance`
                 * @example 01a22028-e983-708e-bc63-387b35279a25
                 */
                balance_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["LedgerEntry"][];
                };
            };
        };
    };
    getStatement: {
        parameters: {
            query?: {
                /** @description One day */
                date?: string;
                /**
                 * @description One month, YYYY-MM
                 * @example 2026-01
                 */
                month?: string;
                /** @description The first day */
                from?: string;
                /** @description The last day, at most 366 days with the first */
                to?: string;
                /** @description Instead of the Accept header */
                format?: "json" | "csv" | "pdf" | "camt.053";
            };
            path: {
                /**
                 * @description A balance of the account, from `GET /account/balance`
                 * @example 01a22028-e983-708e-bc63-387b35279a25
                 */
                balance_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Statement"];
                    "text/csv": string;
                    "application/pdf": string;
                    "application/xml": string;
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /**
                 * @description Rows per page
                 * @example 10
                 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier of the user */
                internal_user_id?: string;
                /** @description Case is ignored */
                email?: string;
                /** @description Parts of first and last name, all of which must match, without regard to case, marks and script. Three to eight letters match the beginning of a part, fewer or more a whole part */
                name?: string;
                /** @description Only these recipients: up to 100 tokens, separated by commas */
                user_tokens?: string;
                /**
                 * @description ISO 3166-1 alpha-3
                 * @example MEX
                 */
                country?: string;
                /** @description The present status */
                status?: "ACTIVE" | "LOCKED" | "DEACTIVE";
                /** @description Created then or later, UTC */
                from?: string;
                /** @description Created by then, the day or second included */
                to?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"][];
                };
            };
        };
    };
    createUser: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    lookUpUser: {
        parameters: {
            query?: {
                /**
                 * @description Your own identifier of the user
                 * @example customer-1024
                 */
                internal_user_id?: string;
                /** @description E-mail address */
                email?: string;
                /** @description First name */
                first_name?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["UserLookup"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    eraseUser: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-5c1d-7266-afa2-1236481530be
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Erasure"];
                };
            };
        };
    };
    listVerificationSessions: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["VerificationSession"][];
                };
            };
        };
    };
    uploadIdImages: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdImages"];
            };
        };
        responses: {
            /** @description Success; the body is empty. */
            200: {};
        };
    };
    listPendingIdentities: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["PendingIdentity"][];
                };
            };
        };
    };
    listIdentityFindings: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["IdentityFindings"][];
                };
            };
        };
    };
    decideIdentity: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityDecisionRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["IdentityDecision"];
                };
            };
        };
    };
    listCountries: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
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
                /** @description Only payers that deliver so */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description Only the payer of this name; case is ignored */
                payer_name?: string;
                /** @description Returns the logos of companies and payers */
                include_payer_logos?: boolean;
            };
            path: {
                /**
                 * @description ISO 3166-1 alpha-3, such as MEX
                 * @example MEX
                 */
                country_code: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
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
                /** @description Only payers that deliver so */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description Only the payer of this name; case is ignored */
                payer_name?: string;
                /**
                 * @description Returns the logos of companies and payers
                 * @example false
                 */
                include_payer_logos?: boolean;
            };
            path: {
                /**
                 * @description ISO 3166-1 alpha-3, such as MEX
                 * @example MEX
                 */
                country_code: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["CountryLookup"];
                };
            };
        };
    };
    readAttributes: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payer and delivery, from the country look-up
                 * @example 80ef88c5-267f-5f31-8509-cae95aa857a9
                 */
                destination_token: string;
                /**
                 * @description An ISO 4217 code, or a ticker that the destination delivers
                 * @example MXN
                 */
                currency: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Attribute"][];
                };
            };
        };
    };
    storeAttributes: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payer and delivery, from the country look-up
                 * @example 80ef88c5-267f-5f31-8509-cae95aa857a9
                 */
                destination_token: string;
                /**
                 * @description An ISO 4217 code, or a ticker that the destination delivers
                 * @example MXN
                 */
                currency: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AttributeValues"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["StoredAttributes"];
                };
            };
        };
    };
    readAttributeSchema: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payer and delivery, from the country look-up
                 * @example 80ef88c5-267f-5f31-8509-cae95aa857a9
                 */
                destination_token: string;
                /**
                 * @description An ISO 4217 code, or a ticker that the destination delivers
                 * @example MXN
                 */
                currency: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    listUserPayouts: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description Your own identifier: the payout that was committed with it, and its other quotes */
                client_transfer_id?: string;
                /** @description The present status */
                status?: components["schemas"]["PayoutStatus"];
                /** @description This payout only */
                payout_token?: string;
                /** @description How the recipient gets the money */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Payout"][];
                };
            };
        };
    };
    createPayout: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PayoutRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["CreatedPayout"];
                };
            };
        };
    };
    getPayout: {
        parameters: {
            query?: {
                /**
                 * @description Returns the logo of the payer
                 * @example false
                 */
                include_payer_logo?: boolean;
                /**
                 * @description Queries the rail before answering
                 * @example false
                 */
                force_status_update?: boolean;
                /** @description Answers the payout as it was at the end of that second or day, UTC. Excludes force_status_update, and must not lie in the future */
                as_of?: string;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Payout"];
                    "application/pdf": string;
                };
            };
        };
    };
    commitPayout: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["CommitResult"];
                };
            };
        };
    };
    exportPayout: {
        parameters: {
            query?: {
                /** @description Returns the logo of the payer */
                include_payer_logo?: boolean;
                /** @description Queries the rail before answering */
                force_status_update?: boolean;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["PayoutWithPdf"];
                    "application/pdf": string;
                };
            };
        };
    };
    getReceipt: {
        parameters: {
            path: {
                /** @description The recipient */
                user_token: string;
                /** @description The payout */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/pdf": string;
                };
            };
        };
    };
    getPayoutProof: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["PayoutProof"];
                };
            };
        };
    };
    cancelPayout: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1803-7541-8d13-131d8df972ce
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Payout"];
                };
            };
        };
    };
    listPayouts: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /**
                 * @description Your own identifier: the payout that was committed with it, and its other quotes
                 * @example invoice-MXN-2041
                 */
                client_transfer_id?: string;
                /** @description The present status */
                status?: components["schemas"]["PayoutStatus"];
                /** @description This payout only */
                payout_token?: string;
                /** @description How the recipient gets the money */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                /** @description Only payouts to this user */
                user_token?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
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
                /** @description The present status */
                status?: components["schemas"]["PayoutStatus"];
                /** @description This payout only */
                payout_token?: string;
                /** @description How the recipient gets the money */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                /** @description The first day of time_of_txn, UTC. Excludes from */
                start_date?: string;
                /** @description The last day of time_of_txn, UTC. Excludes to */
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
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
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
                /** @description The present status */
                status?: components["schemas"]["PayoutStatus"];
                /** @description This payout only */
                payout_token?: string;
                /** @description How the recipient gets the money */
                delivery_type?: components["schemas"]["DeliveryType"];
                /** @description The destination, ISO 3166-1 alpha-3 */
                country?: string;
                /** @description Committed (or created, while PENDING) then or later, UTC */
                from?: string;
                /** @description Committed (or created, while PENDING) by then, the day or second included */
                to?: string;
                /** @description The first day of time_of_txn, UTC. Excludes from */
                start_date?: string;
                /** @description The last day of time_of_txn, UTC. Excludes to */
                end_date?: string;
                /** @description payout is the only type there is */
                type?: "payout";
                /** @description Only what was paid from this balance */
                wallet_token?: string;
                /** @description Accepted; the answer does not depend on it */
                show_all_clients?: string;
                /** @description Only payouts to this user */
                user_token?: string;
                /** @description Filter by metadata: `metadata[key]=value`. Several filters must all match. */
                metadata?: {
                    [key: string]: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["HistoryRow"][];
                };
            };
        };
    };
    proposePayout: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-5219-73e3-92c0-b10730d5fba5
                 */
                payout_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposalRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Proposal"];
                };
            };
        };
    };
    listProposals: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /**
                 * @description Only those with this status
                 * @example CONFIRMED
                 */
                status?: "OPEN" | "CONFIRMED" | "DECLINED" | "EXPIRED";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Proposal"][];
                };
            };
        };
    };
    getProposal: {
        parameters: {
            path: {
                /**
                 * @description The proposal of a payout
                 * @example proposal_01a22029-52a5-7582-bbb2-3f8ffc11c474
                 */
                proposal_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Proposal"];
                };
            };
        };
    };
    createConfirmationLink: {
        parameters: {
            path: {
                /**
                 * @description The proposal of a payout
                 * @example proposal_01a22029-52a5-7582-bbb2-3f8ffc11c474
                 */
                proposal_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["ConfirmationLink"];
                };
            };
        };
    };
    decideProposal: {
        parameters: {
            path: {
                /**
                 * @description The proposal of a payout
                 * @example proposal_01a22029-52a5-7582-bbb2-3f8ffc11c474
                 */
                proposal_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposalDecision"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Proposal"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query: {
                /**
                 * @description The payer and delivery, from the country look-up
                 * @example 80ef88c5-267f-5f31-8509-cae95aa857a9
                 */
                destination_token: string;
                /**
                 * @description What the destination pays out
                 * @example MXN
                 */
                currency: string;
                /** @description What the recipient gets, in `currency`. Without it limits, balance and a verification above an amount are not judged */
                amount?: Decimal;
                /** @description The balance that pays. Default USD */
                source_currency?: string;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    checkPayee: {
        parameters: {
            query?: {
                /** @description The set to ask about. Without it, the one that a payout without it would use */
                attr_set_token?: string;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payer and delivery, from the country look-up
                 * @example 80ef88c5-267f-5f31-8509-cae95aa857a9
                 */
                destination_token: string;
                /**
                 * @description An ISO 4217 code, or a ticker that the destination delivers
                 * @example MXN
                 */
                currency: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["PayeeCheck"];
                };
            };
        };
    };
    getLinkedReceipt: {
        parameters: {
            path: {
                /** @description The secret part of a receipt link */
                token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/pdf": string;
                };
            };
        };
    };
    getReceiptKey: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/x-pem-file": string;
                };
            };
        };
    };
    listReceiptKeys: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["ReceiptKeySet"];
                };
            };
        };
    };
    readBrand: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Brand"];
                };
            };
        };
    };
    changeBrand: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["BrandRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Brand"];
                };
            };
        };
    };
    listRecipientLinks: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
            };
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["RecipientLink"][];
                };
            };
        };
    };
    createRecipientLink: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecipientLinkRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["NewRecipientLink"];
                };
            };
        };
    };
    revokeRecipientLink: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description From the answer that created it
                 * @example link_01a22029-4db2-74c9-8b95-566b053aec8b
                 */
                link_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["RecipientLink"];
                };
            };
        };
    };
    explainPayout: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["PayoutDecision"];
                };
            };
        };
    };
    listBatches: {
        parameters: {
            query?: {
                /**
                 * @description Rows per page
                 * @example 1
                 */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /** @description The present status */
                status?: "RECEIVING" | "DRAFT" | "QUOTED" | "COMMITTING" | "COMMITTED" | "CANCELLED";
                /** @description Uploaded then or later, UTC */
                from?: string;
                /** @description Uploaded by then, the day or second included */
                to?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Batch"][];
                };
            };
        };
    };
    createBatch: {
        parameters: {
            query?: {
                /** @description A name of your own, shown with the batch */
                name?: string;
            };
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
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    createBatchFromCsv: {
        parameters: {
            query?: {
                /** @description A name of your own, shown with the batch */
                name?: string;
            };
        };
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
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
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5774-74a5-b52d-151d48e586f8
                 */
                batch_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    commitBatch: {
        parameters: {
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5774-74a5-b52d-151d48e586f8
                 */
                batch_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchCommitRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["BatchCommitResult"];
                };
            };
        };
    };
    listBatchRows: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /**
                 * @description The present status
                 * @example INVALID
                 */
                status?: "VALID" | "INVALID" | "REPEATED" | "COMMITTED" | "REFUSED";
                /** @description Your own identifier of the transfer; committed once, forever */
                client_transfer_id?: string;
                /** @description Only rows to this user */
                user_token?: string;
            };
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5774-74a5-b52d-151d48e586f8
                 */
                batch_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["BatchRow"][];
                };
            };
        };
    };
    getBatchResult: {
        parameters: {
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5774-74a5-b52d-151d48e586f8
                 */
                batch_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "text/csv": string;
                    "application/x-ndjson": string;
                };
            };
        };
    };
    quoteBatch: {
        parameters: {
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5774-74a5-b52d-151d48e586f8
                 */
                batch_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    cancelBatch: {
        parameters: {
            path: {
                /**
                 * @description The batch
                 * @example batch_01a22029-5993-7564-a7d0-c775f5dd95d7
                 */
                batch_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
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
                /** @description Seconds to wait for an event where there is none yet. Not for a stream */
                wait?: number;
                /** @description Only events of these types; `payout.*` for all types that begin with `payout.`. Repeat the parameter, or separate types by commas */
                type?: components["schemas"]["EventTypeFilter"][];
                /** @description Only events of this object, by its token */
                object?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Event"][];
                };
            };
        };
    };
    streamEvents: {
        parameters: {
            query?: {
                /** @description The sequence of the last event that you have. Default: begin with the oldest stored event */
                after?: number;
                /** @description Only events of these types; `payout.*` for all types that begin with `payout.`. Repeat the parameter, or separate types by commas */
                type?: components["schemas"]["EventTypeFilter"][];
                /** @description Only events of this object, by its token */
                object?: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Only ENABLED gets events; PAUSED and DISABLED miss none: resume it to get them */
                status?: "ENABLED" | "PAUSED" | "DISABLED";
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
        };
    };
    createWebhook: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    changeWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookChange"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookRotation"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    pauseWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    resumeWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    removeWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
        };
    };
    replayWebhook: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookReplayRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookReplay"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Rows per page */
                number_of_records?: number;
                /** @description The cursor in the Link header of the previous page */
                cursor?: string;
                /**
                 * @description The result of the request
                 * @example delivered
                 */
                result?: components["schemas"]["DeliveryResult"];
                /** @description The type of the event */
                type?: string;
                /** @description The sequence of the event */
                sequence?: number;
            };
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"][];
                };
            };
        };
    };
    getWebhookDelivery: {
        parameters: {
            path: {
                /**
                 * @description The webhook
                 * @example webhook_01a22029-5365-70ef-8764-615270b0dcdd
                 */
                webhook_token: string;
                /**
                 * @description One request to a webhook, from its log
                 * @example delivery_01a22029-53c3-7042-8102-3b39e4b09e04
                 */
                delivery_token: string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetail"];
                };
            };
        };
    };
    createSandboxAccount: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxAccountRequest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["SandboxAccount"];
                };
            };
        };
    };
    fundSandboxBalance: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxFunding"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
        };
    };
    readSandboxClock: {
        parameters: {};
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["SandboxClock"];
                };
            };
        };
    };
    moveSandboxClock: {
        parameters: {};
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxClockMove"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["SandboxClock"];
                };
            };
        };
    };
    scriptSandboxPayout: {
        parameters: {
            path: {
                /**
                 * @description The payout
                 * @example payout_01a22029-1597-7424-8076-44ffd16a254d
                 */
                payout_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxOutcome"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["SandboxOutcomeApplied"];
                };
            };
        };
    };
    decideSandboxVerification: {
        parameters: {
            path: {
                /**
                 * @description The recipient
                 * @example usr_01a22029-0e64-75f5-a38e-6d64c8ddf146
                 */
                user_token: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxDecision"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                content: {
                    "application/json": components["schemas"]["SandboxDecisionApplied"];
                };
            };
        };
    };
}
