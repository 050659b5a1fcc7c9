import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { type Session, type SignIn, signIn } from '../api/session.ts';
import iconUrl from '../icon.svg';
import { TextField } from '../ui/field.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { pitch } from './pitch.ts';

/**
 * Where there is no session. The token of a one-time link stands behind `#`, so that no server and
 * no log sees it, and it is used only after a click: programs that preview links do not spend it.
 */
export function SignInPage({ onSignedIn }: { onSignedIn: (session: Session) => void }): ReactNode {
  const [link, setLink] = useState(readLink);
  return (
    <div className="signin">
      <aside className="pitch" aria-label="About">
        <span className="brand">
          <img src={iconUrl} alt="" width="24" height="24" />
          Outlay
        </span>
        <div>
          <p className="headline">{pitch.headline}</p>
          <p>{pitch.lead}</p>
        </div>
        <small>{pitch.foot}</small>
      </aside>
      <main>
        {link === undefined ? (
          <PasswordForm onSignedIn={onSignedIn} />
        ) : (
          <LinkForm link={link} onSignedIn={onSignedIn} onGiveUp={() => setLink(undefined)} />
        )}
      </main>
    </div>
  );
}

function readLink(): string | undefined {
  const { hash, search, pathname } = globalThis.location;
  const token =
    new URLSearchParams(hash.slice(1)).get('link') ?? new URLSearchParams(search).get('link');
  // The history must not keep it.
  if (token !== null) globalThis.history.replaceState(null, '', pathname);
  return token ?? undefined;
}

type Attempt = { error: unknown; isSending: boolean; send: (credential: SignIn) => void };

function useSignIn(onSignedIn: (session: Session) => void): Attempt {
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const send = (credential: SignIn): void => {
    setSending(true);
    setError(undefined);
    signIn(credential)
      .then(onSignedIn, setError)
      .finally(() => setSending(false));
  };
  return { error, isSending, send };
}

type LinkFormProps = {
  link: string;
  onSignedIn: (session: Session) => void;
  onGiveUp: () => void;
};

function LinkForm({ link, onSignedIn, onGiveUp }: LinkFormProps): ReactNode {
  const { error, isSending, send } = useSignIn(onSignedIn);
  return (
    <div className="form">
      <h1>Sign in with your link</h1>
      <p className="soft">The link works once, in this browser.</p>
      {error === undefined ? null : <ProblemNotice error={error} />}
      <Button
        className="button primary large"
        isDisabled={isSending}
        onPress={() => send({ link })}
      >
        {isSending ? 'Signing in' : 'Sign in'}
      </Button>
      <Button className="button plain" onPress={onGiveUp}>
        Use a password instead
      </Button>
    </div>
  );
}

function PasswordForm({ onSignedIn }: { onSignedIn: (session: Session) => void }): ReactNode {
  const { error, isSending, send } = useSignIn(onSignedIn);
  const [operator, setOperator] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send({ operator, password, ...(code === '' ? {} : { code }) });
  };
  return (
    <form onSubmit={submit}>
      <h1>Sign in</h1>
      {error === undefined ? null : <ProblemNotice error={error} />}
      <TextField
        label="Operator"
        value={operator}
        onText={setOperator}
        required
        autoComplete="username"
      />
      <TextField
        label="Password"
        type="password"
        value={password}
        onText={setPassword}
        required
        autoComplete="current-password"
      />
      <TextField
        label="Code"
        hint="Six digits from your authenticator, if you have set one up"
        value={code}
        onText={setCode}
        isOptional
        inputMode="numeric"
        pattern="[0-9]{6}"
        maxLength={6}
        autoComplete="one-time-code"
      />
      <Button type="submit" className="button primary large" isDisabled={isSending}>
        {isSending ? 'Signing in' : 'Sign in'}
      </Button>
      <Notice tone="neutral" icon="approve" title="First time here?">
        <p className="soft small">
          The service prints a one-time link when it starts for the first time. An owner invites
          others with <code>outlay admin operator invite</code>.
        </p>
      </Notice>
    </form>
  );
}
