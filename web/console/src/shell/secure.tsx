import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, lazy, type ReactNode, Suspense, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import {
  changePassword,
  confirmTotp,
  proposeTotp,
  type Session,
  sessionKey,
} from '../api/session.ts';
import { findFault } from '../ui/faults.ts';
import { TextField } from '../ui/field.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Copy, PageHead, Panel, Skeleton } from '../ui/parts.tsx';
import { useSignOut } from './sign-out.tsx';

/** Loaded when an authenticator is set up, which is seldom. */
const QrCode = lazy(async () => ({ default: (await import('../ui/qr-code.tsx')).QrCode }));

type FirstProps = { session: Session; onSignedOut: () => void; onChanged: () => void };

/** Live admits no operator without a second factor, so a first visit sets it up and signs in again. */
export function SecureFirst({ session, onSignedOut, onChanged }: FirstProps): ReactNode {
  const { leave, failure } = useSignOut(session, onSignedOut);
  return (
    <div className="frame alone" data-environment={session.environment}>
      <main className="main narrow">
        <PageHead
          title="Secure your access"
          lead={`${session.operator.name}, set a password and a second factor. Then sign in with both`}
        >
          <Button className="button" onPress={leave}>
            {session.has_password && session.has_totp ? 'Sign in with both' : 'Sign out'}
          </Button>
        </PageHead>
        {failure}
        <SecureForms session={session} onChanged={onChanged} />
      </main>
    </div>
  );
}

/** The same for those who are in. */
export function SecureForms({ session, onChanged }: Omit<FirstProps, 'onSignedOut'>): ReactNode {
  return (
    <div className="stack">
      <PasswordPanel session={session} onChanged={onChanged} />
      <TotpPanel session={session} onChanged={onChanged} />
    </div>
  );
}

type PanelProps = { session: Session; onChanged: () => void };

function PasswordPanel({ session, onChanged }: PanelProps): ReactNode {
  const [password, setPassword] = useState('');
  const [current, setCurrent] = useState('');
  const change = useMutation({
    mutationFn: () =>
      changePassword(session, {
        password,
        ...(current === '' ? {} : { current_password: current }),
      }),
    onSuccess: onChanged,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Panel title="Password">
      <form className="stack" onSubmit={submit}>
        <TextField
          label={session.has_password ? 'New password' : 'Password'}
          hint="At least twelve characters; several words are easy to remember"
          type="password"
          autoComplete="new-password"
          minLength={12}
          maxLength={200}
          required
          value={password}
          onText={setPassword}
        />
        {session.has_password ? (
          <TextField
            label="Current password"
            hint="Not needed where you signed in with a link"
            type="password"
            autoComplete="current-password"
            isOptional
            value={current}
            onText={setCurrent}
            fault={findFault(change.error, 'current_password')}
          />
        ) : null}
        {change.error === null ? null : <ProblemNotice error={change.error} />}
        {change.isSuccess ? (
          <Notice tone="success" icon="checkCircle" title="The password is set" />
        ) : null}
        <div className="row">
          <Button type="submit" className="button" isDisabled={change.isPending}>
            Set the password
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function TotpPanel({ session, onChanged }: PanelProps): ReactNode {
  const queries = useQueryClient();
  const [code, setCode] = useState('');
  const [currentCode, setCurrentCode] = useState('');
  const propose = useMutation({ mutationFn: () => proposeTotp(session) });
  const confirm = useMutation({
    mutationFn: (proposal: string) =>
      confirmTotp(session, {
        proposal,
        code,
        ...(currentCode === '' ? {} : { current_code: currentCode }),
      }),
    onSuccess: () => {
      onChanged();
      void queries.invalidateQueries({ queryKey: sessionKey });
    },
  });
  if (propose.data === undefined || confirm.isSuccess) {
    return (
      <TotpStart
        isSet={session.has_totp || confirm.isSuccess}
        error={propose.error}
        onStart={() => {
          confirm.reset();
          propose.mutate();
        }}
      />
    );
  }
  const { secret, uri, proposal } = propose.data;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    confirm.mutate(proposal);
  };
  return (
    <Panel title="Second factor">
      <form className="stack" onSubmit={submit}>
        <NewKey secret={secret} uri={uri} />
        <Code
          label="Code that the app shows"
          value={code}
          onText={setCode}
          fault={findFault(confirm.error, 'code')}
        />
        {session.has_totp ? (
          <Code
            label="Code of the present app"
            value={currentCode}
            onText={setCurrentCode}
            fault={findFault(confirm.error, 'current_code')}
          />
        ) : null}
        {confirm.error === null ? null : <ProblemNotice error={confirm.error} />}
        <div className="row">
          <Button type="submit" className="button primary" isDisabled={confirm.isPending}>
            Confirm
          </Button>
        </div>
      </form>
    </Panel>
  );
}

type StartProps = { isSet: boolean; error: unknown; onStart: () => void };

function TotpStart({ isSet, error, onStart }: StartProps): ReactNode {
  return (
    <Panel title="Second factor">
      <div className="stack">
        <p className="soft">
          {isSet
            ? 'An authenticator is set up. Setting up another one replaces it.'
            : 'Six digits from an authenticator app, in addition to the password.'}
        </p>
        {error === null ? null : <ProblemNotice error={error} />}
        <div className="row">
          <Button className="button" onPress={onStart}>
            Set up an authenticator
          </Button>
        </div>
      </div>
    </Panel>
  );
}

function NewKey({ secret, uri }: { secret: string; uri: string }): ReactNode {
  return (
    <>
      <p>
        Scan this code with the app, <a href={uri}>open it on this device</a>, or enter the key:
      </p>
      <Suspense fallback={<Skeleton width="196px" height={196} />}>
        <QrCode text={uri} label="QR code with the key of the authenticator" />
      </Suspense>
      <Copy value={secret} label="key" isWhole />
    </>
  );
}

type CodeProps = {
  label: string;
  value: string;
  onText: (text: string) => void;
  fault: string | undefined;
};

function Code(props: CodeProps): ReactNode {
  return (
    <TextField
      {...props}
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{6}"
      maxLength={6}
      required
    />
  );
}
