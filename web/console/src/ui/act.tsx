import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Heading } from 'react-aria-components/Dialog';
import { useSession } from '../api/context.tsx';
import { type Acted, type ActRequest, useAct, useReadAgain } from '../api/operator.ts';
import { AccountField } from './account-field.tsx';
import { PageDialog } from './dialog.tsx';
import { useDialogPlace } from './dialog-place.tsx';
import { findFault } from './faults.ts';
import { type Choice, SelectField, TextField } from './field.tsx';
import { Notice, ProblemNotice } from './notice.tsx';
import { Copy } from './parts.tsx';

/** What is asked for besides the reason. Its name is that of the operation's field. */
export type ActField = {
  name: string;
  label: string;
  hint?: string;
  isOptional?: boolean;
  initial?: string;
  /** An account to choose, instead of a text. */
  isAccount?: boolean;
  /** A list to choose from, instead of a text. */
  choices?: readonly Choice[];
  inputMode?: 'decimal' | 'numeric';
  type?: 'date' | 'text';
};

/** Texts by the names of the fields; empty ones are left out. */
export type Values = Readonly<Record<string, string>>;

type Props = {
  label: string;
  title: string;
  /** What it does, in a sentence that a person can agree to. */
  children: ReactNode;
  tone?: 'primary' | 'danger' | 'plain';
  fields?: readonly ActField[];
  /** Its body gets the fields and the reason; what a function returns gets the reason only. */
  request: (Omit<ActRequest, 'body'> & { body?: object }) | ((values: Values) => ActRequest);
  /** Of what was done by a request with this body, such as a secret that is shown once. */
  outcome?: (outcome: unknown, body: unknown) => ReactNode;
};

/** A button that asks for the reason, then acts. What needs two persons says that it waits. */
export function Act(props: Props): ReactNode {
  const { label, tone = 'plain', fields = [] } = props;
  const show = useDialogPlace();
  return (
    <Button
      className={tone === 'plain' ? 'button' : `button ${tone}`}
      // Its fields stay as they are when it opens, so it opens once there is something to choose.
      isDisabled={fields.some(({ choices }) => choices?.length === 0)}
      onPress={() => show(<ActDialog {...props} />)}
    >
      {label}
    </Button>
  );
}

/** It stays as it was when the person opened it, even if the page behind has been read again since. */
function ActDialog(props: Props): ReactNode {
  const { title, outcome } = props;
  const show = useDialogPlace();
  const readAgain = useReadAgain();
  const act = useAct();
  const { data: done, isPending, variables } = act;
  const shown = done?.result === 'done' ? outcome?.(done.outcome, variables?.body) : undefined;
  const close = (): void => {
    show(null);
    readAgain();
  };
  return (
    <PageDialog close={close} isHeld={isPending || Boolean(shown)}>
      {done === undefined ? (
        <Form {...props} act={act} close={close} />
      ) : (
        <Outcome title={title} done={done} close={close}>
          {shown}
        </Outcome>
      )}
    </PageDialog>
  );
}

type FormProps = Props & { act: ReturnType<typeof useAct<Acted>>; close: () => void };

function Form({ act, close, ...props }: FormProps): ReactNode {
  const { label, title, children, tone, fields = [], request } = props;
  const { environment } = useSession().session;
  const [reason, setReason] = useState('');
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, initial = '' }) => [name, initial])),
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const trimmed = Object.entries(values).map(([name, text]) => [name, text.trim()] as const);
    const given: Values = Object.fromEntries(trimmed.filter(([, text]) => text !== ''));
    const asked =
      typeof request === 'function'
        ? request(given)
        : { ...request, body: { ...given, ...request.body } };
    act.mutate({ ...asked, body: { ...asked.body, reason: reason.trim() } });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Heading slot="title">{title}</Heading>
      <div className="soft">{children}</div>
      {environment === 'live' ? (
        <Notice tone="danger" title="This is live: it concerns real money" />
      ) : null}
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          fault={findFault(act.error, field.name)}
          onText={(text) => setValues({ ...values, [field.name]: text })}
        />
      ))}
      <TextField
        label="Reason"
        hint="For the audit log. No personal data"
        value={reason}
        onText={setReason}
        fault={findFault(act.error, 'reason')}
        required
        maxLength={1000}
        autoComplete="off"
      />
      {act.error === null ? null : <ProblemNotice error={act.error} />}
      <div className="row">
        <Button
          type="submit"
          className={tone === 'danger' ? 'button danger' : 'button primary'}
          isDisabled={act.isPending || reason.trim() === ''}
        >
          {label}
        </Button>
        <Button className="button plain" isDisabled={act.isPending} onPress={close}>
          Back
        </Button>
      </div>
    </form>
  );
}

type InputProps = {
  field: ActField;
  value: string;
  fault: string | undefined;
  onText: (text: string) => void;
};

function Input({ field, value, fault, onText }: InputProps): ReactNode {
  const { label, hint, isOptional = false, isAccount, choices, inputMode, type } = field;
  if (isAccount === true) return <AccountField {...{ label, hint, value, fault, onText }} />;
  if (choices !== undefined) {
    return <SelectField {...{ label, hint, isOptional, choices, value, fault, onText }} />;
  }
  return (
    <TextField
      {...{ label, hint, isOptional, inputMode, type, value, fault, onText }}
      required={!isOptional}
      maxLength={2000}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

type OutcomeProps = {
  title: string;
  done: Acted;
  close: () => void;
  children: ReactNode;
};

function Outcome({ title, done, close, children }: OutcomeProps): ReactNode {
  const isWaiting = done.result === 'waiting';
  return (
    <div className="stack">
      <Heading slot="title">{title}</Heading>
      <Notice
        tone={isWaiting ? 'warning' : 'success'}
        icon={isWaiting ? 'clock' : 'checkCircle'}
        title={isWaiting ? 'Waits for a second operator' : 'Done'}
      >
        <p>
          {isWaiting ? explainWaiting(done.approval) : 'It is in the audit log with your reason.'}
        </p>
      </Notice>
      {children}
      <div className="row">
        <Button className="button primary" onPress={close}>
          Close
        </Button>
      </div>
    </div>
  );
}

/** Requests wait among the approvals; decisions wait for the same decision of another operator. */
function explainWaiting(approval: string): string {
  return approval === ''
    ? 'Nothing has changed yet. Another operator has to decide the same here.'
    : 'Nothing has changed yet. It is in the list of approvals, and you cannot approve it yourself.';
}

/**
 * Shows the secrets of an outcome by their names in it, and nothing where it has none. They are shown this
 * once and kept nowhere.
 */
export function showSecrets(labels: Readonly<Record<string, string>>) {
  return (outcome: unknown): ReactNode => {
    const shown = Object.entries(labels).flatMap(([name, label]) => {
      const value = readText(outcome, name);
      return value === '' ? [] : [{ label, value }];
    });
    if (shown.length === 0) return null;
    return shown.map(({ label, value }) => (
      <div key={label}>
        <p className="small soft">{label}. Copy it now: it is not shown again.</p>
        <Copy value={value} label={label} isWhole />
      </div>
    ));
  };
}

/** A text in an outcome; "" where there is none. */
export function readText(outcome: unknown, name: string): string {
  if (typeof outcome !== 'object' || outcome === null) return '';
  const value = (outcome as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : '';
}
