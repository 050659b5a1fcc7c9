import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Schemas } from '../api/client.ts';
import { useMay, useOperator } from '../api/operator.ts';
import type { Identity, IdentityImages } from '../api/operator-types.ts';
import { useRecipientNames } from '../api/queries.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { RecipientLink } from '../ui/account-link.tsx';
import { Act, type ActField } from '../ui/act.tsx';
import { Icon } from '../ui/icon.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Findings } from './identity/findings.tsx';
import { Images } from './identity/images.tsx';
import './identity.css';

type Upload = Pick<IdentityImages, 'session_id' | 'submission'>;
type WithFindings = Identity & { findings: Schemas['IdentityFindings'][] };

/** One recipient's verification: images beside each other, what was read, and the decision. */
export function IdentityPage(): ReactNode {
  const { user } = useParams({ from: '/identities/$user' });
  const asked = useOperator<WithFindings>(`identities/${encodeURIComponent(user)}`);
  const account = asked.data?.account ?? '';
  const names = useRecipientNames(account === '' ? [] : [{ account, user }]);
  const name = names.get(user);
  const back = (
    <Link to="/identities" className="crumb">
      <Icon name="back" />
      Identities
    </Link>
  );
  return (
    <>
      <PageHead
        title={name === undefined ? heads.identity.title : `Identity of ${name}`}
        above={back}
        lead={account === '' ? undefined : <RecipientLink {...{ account, user, name }} />}
      />
      <Loaded query={asked} height={420}>
        {(identity) => <Review user={user} identity={identity} />}
      </Loaded>
    </>
  );
}

function Review({ user, identity }: { user: string; identity: WithFindings }): ReactNode {
  const mayComply = useMay('comply');
  const [session] = identity.sessions;
  // The page reads itself again: what was looked at stays what is decided about.
  const [opened] = useState<Upload | undefined>(session);
  const [viewed, setViewed] = useState<Upload>();
  const seen = viewed ?? (opened !== undefined && opened.submission > 0 ? opened : session);
  if (session === undefined) {
    return (
      <Panel title="Verification">
        <Empty icon="recipients" title="Never verified">
          A verification begins with a link to the recipient, or with an upload by the API.
        </Empty>
      </Panel>
    );
  }
  const isNewer =
    seen !== undefined &&
    (session.session_id > seen.session_id ||
      (session.session_id === seen.session_id && session.submission > seen.submission));
  return (
    <div className="stack">
      {isNewer ? (
        <Notice tone="warning" title="The recipient has uploaded other images since">
          Your decision would be about the earlier ones and is refused. Load the page again and look
          at the new images.
        </Notice>
      ) : null}
      <Panel title="Decision" aside={<Tag tone="warning">{session.status}</Tag>}>
        <div className="stack">
          <p className="soft">
            Upload {session.submission}, changed <Time value={session.updated_at} />. Look at the
            images and at what was read, then decide.
          </p>
          {mayComply && seen !== undefined && seen.submission > 0 ? (
            <Decisions user={user} seen={seen} />
          ) : mayComply ? (
            <p>The recipient has not uploaded any images: there is nothing to decide.</p>
          ) : (
            <Notice tone="warning" title="Your role does not see images and does not decide" />
          )}
        </div>
      </Panel>
      {mayComply && session.submission > 0 ? <Images user={user} onView={setViewed} /> : null}
      <Findings findings={identity.findings} />
      <History decisions={identity.decisions} />
    </div>
  );
}

const recipientReasons = [
  'dark',
  'blurred',
  'cut',
  'glare',
  'expired',
  'unsupported',
  'face_hidden',
  'face_mismatch',
  'data_mismatch',
];

const reasonForRecipient: ActField = {
  name: 'recipient_reason',
  label: 'Message to the recipient',
  isOptional: true,
  choices: [
    { value: '', label: 'No specific reason' },
    ...recipientReasons.map((value) => ({ value, label: readable(value) })),
  ],
};

type Choice = {
  decision: string;
  label: string;
  effect: string;
  tone: 'primary' | 'danger' | 'plain';
  fields: readonly ActField[];
};

const choices: readonly Choice[] = [
  {
    decision: 'approved',
    label: 'Approve',
    effect: 'The recipient is verified: payouts that need it may continue.',
    tone: 'primary',
    fields: [],
  },
  {
    decision: 'resubmission_requested',
    label: 'Ask for other images',
    effect: 'The recipient is asked to upload again.',
    tone: 'plain',
    fields: [reasonForRecipient],
  },
  {
    decision: 'declined',
    label: 'Decline',
    effect: 'The recipient is not verified. Payouts that need it are refused.',
    tone: 'danger',
    fields: [reasonForRecipient],
  },
];

function Decisions({ user, seen }: { user: string; seen: Upload }): ReactNode {
  return (
    <div className="row">
      {choices.map(({ decision, label, effect, tone, fields }) => (
        <Act
          key={decision}
          label={label}
          title={`${label}: identity`}
          tone={tone}
          fields={fields}
          request={{
            path: `identities/${encodeURIComponent(user)}/decision`,
            body: { decision, session: seen.session_id, submission: String(seen.submission) },
          }}
        >
          <p>{effect}</p>
          <p>Where the account requires two persons, a second operator has to decide the same.</p>
        </Act>
      ))}
    </div>
  );
}

type Decided = Identity['decisions'][number];

const historyColumns: readonly Column<Decided>[] = [
  { head: 'Time (UTC)', cell: (row) => <Time value={row.decided_at} isExact /> },
  {
    head: 'Decision',
    cell: (row) => (
      <>
        {readable(row.decision)}
        {row.is_effective ? '' : ', waited for a second operator'}
      </>
    ),
  },
  { head: 'By', kind: 'name', cell: (row) => <Foreign>{row.decided_by}</Foreign> },
  { head: 'Reason', kind: 'text', cell: (row) => <Foreign>{row.reason}</Foreign> },
  { head: 'Upload', kind: 'right', cell: (row) => row.submission },
];

function History({ decisions }: Pick<Identity, 'decisions'>): ReactNode {
  if (decisions.length === 0) return null;
  return (
    <Panel title="Earlier decisions" isFlush>
      <Table
        label="Table of decisions"
        columns={historyColumns}
        rows={decisions}
        keyOf={(row, index) => row.decided_at + index}
      />
    </Panel>
  );
}
