import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Dialog, DialogTrigger, Heading } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { useSession } from '../api/context.tsx';
import { type Acted, type Act as Request, useAct, useReadAgain } from '../api/operator.ts';
import { TextField } from './field.tsx';
import { Notice, ProblemNotice } from './notice.tsx';

type Props = {
  label: string;
  title: string;
  /** What it does, in a sentence that a person can agree to. */
  children: ReactNode;
  tone?: 'primary' | 'danger' | 'plain';
  request: (reason: string) => Request;
};

/** A button that asks for the reason, then acts. What needs two persons says that it waits. */
export function Act({ label, title, children, tone = 'plain', request }: Props): ReactNode {
  // When it closes: what it acted on may then leave the page, and the dialog with it.
  const readAgain = useReadAgain();
  const look = tone === 'plain' ? 'button' : `button ${tone}`;
  return (
    <DialogTrigger onOpenChange={(isOpen) => (isOpen ? undefined : readAgain())}>
      <Button className={look}>{label}</Button>
      <ModalOverlay className="scrim" isDismissable>
        <Modal className="dialog">
          <Dialog className="act">
            {({ close }) => <Form {...{ label, title, tone, request, close }}>{children}</Form>}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function Form({
  label,
  title,
  children,
  tone,
  request,
  close,
}: Props & { close: () => void }): ReactNode {
  const { environment } = useSession().session;
  const [reason, setReason] = useState('');
  const act = useAct();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    act.mutate(request(reason.trim()));
  };
  if (act.data !== undefined) return <Outcome {...{ title, close }} result={act.data.result} />;
  return (
    <form className="stack" onSubmit={submit}>
      <Heading slot="title">{title}</Heading>
      <div className="soft">{children}</div>
      {environment === 'live' ? (
        <Notice tone="danger" title="This is live: it concerns real money" />
      ) : null}
      <TextField
        label="Reason"
        hint="For the audit log"
        value={reason}
        onText={setReason}
        required
        maxLength={2000}
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
        <Button className="button plain" onPress={close}>
          Back
        </Button>
      </div>
    </form>
  );
}

type OutcomeProps = { title: string; result: Acted['result']; close: () => void };

function Outcome({ title, result, close }: OutcomeProps): ReactNode {
  const isWaiting = result === 'waiting';
  return (
    <div className="stack">
      <Heading slot="title">{title}</Heading>
      <Notice
        tone={isWaiting ? 'warning' : 'success'}
        icon={isWaiting ? 'clock' : 'checkCircle'}
        title={isWaiting ? 'Waits for a second operator' : 'Done'}
      >
        <p>
          {isWaiting
            ? 'Nothing has changed yet. It is in the list of approvals, and you cannot approve it yourself.'
            : 'It is in the audit log with your reason.'}
        </p>
      </Notice>
      <div className="row">
        <Button className="button primary" onPress={close}>
          Close
        </Button>
      </div>
    </div>
  );
}
