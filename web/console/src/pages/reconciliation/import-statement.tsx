import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { useAct, useReadAgain } from '../../api/operator.ts';
import { TextField } from '../../ui/field.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/parts.tsx';

type Imported = {
  outcome: { result: string; new_entries: number; known_entries: number; matched: number };
};

/** Longer statements are imported by the command. */
const bytesMax = 4_000_000;

/** A statement of the bank (camt.053 or CSV), matched with the settlements as it comes in. */
export function ImportStatement({ rail }: { rail: string }): ReactNode {
  const [reason, setReason] = useState('');
  const [fault, setFault] = useState('');
  const readAgain = useReadAgain();
  const send = useAct<Imported>();
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    if (file.size > bytesMax) {
      setFault('The file has more than 4 MB: use the command reconciliation import');
      return;
    }
    setFault('');
    const body = { content: encode(await file.arrayBuffer()), reason: reason.trim() };
    send.mutate({ path: `reconciliation/${rail}/statements`, body }, { onSettled: readAgain });
  };
  return (
    <Panel title="Import a statement of the bank">
      <div className="stack">
        <TextField
          label="Reason"
          hint="For the audit log, such as the day of the statement"
          value={reason}
          onText={setReason}
          maxLength={1000}
          autoComplete="off"
        />
        <div className="row">
          <FileTrigger
            acceptedFileTypes={['text/csv', '.csv', '.xml', 'application/xml', 'text/xml']}
            onSelect={(files) => void open(files?.[0])}
          >
            <Button className="button" isDisabled={reason.trim() === '' || send.isPending}>
              {send.isPending ? 'Importing' : 'Choose a file'}
            </Button>
          </FileTrigger>
          <span className="small faint">camt.053, or CSV with booking_date, amount, currency</span>
        </div>
        {fault === '' ? null : <Notice tone="danger" title={fault} />}
        {send.error === null ? null : <ProblemNotice error={send.error} />}
        {send.data === undefined ? null : <Report outcome={send.data.outcome} />}
      </div>
    </Panel>
  );
}

function Report({ outcome }: Imported): ReactNode {
  const isNew = outcome.result === 'imported';
  return (
    <Notice
      tone={isNew ? 'success' : 'warning'}
      icon={isNew ? 'checkCircle' : 'alert'}
      title={isNew ? 'Imported' : 'This file was imported before'}
    >
      <p>
        {outcome.new_entries} new entries, {outcome.known_entries} known ones, {outcome.matched}{' '}
        matched.
      </p>
    </Notice>
  );
}

function encode(bytes: ArrayBuffer): string {
  const portion = 32_768;
  const view = new Uint8Array(bytes);
  let text = '';
  for (let at = 0; at < view.length; at += portion) {
    text += String.fromCharCode(...view.subarray(at, at + portion));
  }
  return btoa(text);
}
