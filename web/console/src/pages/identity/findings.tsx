import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { formatPercent } from '../../format/amount.ts';
import { readable, type Tone } from '../../format/words.ts';
import { Empty, Facts, Foreign, Panel, Tag } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Finding = Schemas['IdentityFindings'];
type Comparison = Finding['document']['comparisons'][number];

/** What the reader found on the document, and what a provider thinks. It decides nothing. */
export function Findings({ findings }: { findings: readonly Finding[] }): ReactNode {
  const [newest, ...earlier] = findings;
  if (newest === undefined) {
    return (
      <Panel title="What was read">
        <Empty icon="search" title="Nothing was read">
          Findings appear here when the reader is installed (npm run ocr) or a provider is
          configured.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <Document finding={newest} />
      <Faces finding={newest} />
      <Provider finding={newest} />
      {earlier.length === 0 ? null : (
        <details className="details">
          <summary>Earlier uploads</summary>
          <div className="stack">
            {earlier.map((finding) => (
              <Document key={finding.session_id + String(finding.submission)} finding={finding} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

const resultTones: Readonly<Record<string, Tone>> = {
  read: 'success',
  partly_read: 'warning',
  not_read: 'danger',
  failed: 'danger',
  waiting: 'progress',
};

const notRead: Readonly<Record<string, string>> = {
  waiting: 'The document is being read.',
  not_installed: 'What reads documents is not installed: npm run ocr, then identity read.',
  failed: 'The reader failed five times; identity read tries again.',
};

const likenessTones: Readonly<Record<string, Tone>> = {
  same: 'success',
  similar: 'warning',
  different: 'danger',
};

const comparisonColumns: readonly Column<Comparison>[] = [
  { head: 'Field', cell: ({ field }) => readable(field) },
  { head: 'On the document', cell: ({ document }) => <Text text={document} /> },
  { head: 'As given', cell: ({ user }) => <Text text={user} /> },
  {
    head: 'Comparison',
    cell: ({ result }) => (
      <Tag
        tone={likenessTones[result] ?? 'neutral'}
        icon={result === 'same' ? 'check' : result === 'unknown' ? 'quote' : 'alert'}
      >
        {readable(result)}
      </Tag>
    ),
  },
];

function Text({ text }: { text: string }): ReactNode {
  return text === '' ? <span className="faint">—</span> : <Foreign>{text}</Foreign>;
}

function Document({ finding }: { finding: Finding }): ReactNode {
  const { document, submission } = finding;
  const { fields, result } = document;
  return (
    <Panel
      title={`What was read from upload ${String(submission)}`}
      isFlush
      aside={<Tag tone={resultTones[result] ?? 'neutral'}>{readable(result)}</Tag>}
    >
      {document.comparisons.length === 0 ? null : (
        <Table
          label="Document and recipient compared"
          columns={comparisonColumns}
          rows={document.comparisons}
          keyOf={({ field }) => field}
        />
      )}
      <div className="body stack">
        {fields === null ? (
          <p className="soft">
            {notRead[result] ?? 'No machine-readable zone was read from the pictures.'}
          </p>
        ) : (
          <Facts
            facts={[
              { title: 'Document', value: `${fields.code}, ${document.format}` },
              { title: 'Nationality', value: fields.nationality },
              {
                title: 'Expires on',
                value: (
                  <>
                    {fields.expires_on}{' '}
                    {fields.is_expired ? (
                      <Tag tone="danger" icon="alert">
                        Expired
                      </Tag>
                    ) : null}
                  </>
                ),
              },
            ]}
          />
        )}
        <Checks checks={document.checks} />
      </div>
    </Panel>
  );
}

function Checks({ checks }: { checks: Finding['document']['checks'] }): ReactNode {
  if (checks.length === 0) return null;
  return (
    <div className="row">
      <span className="small faint">Check digits</span>
      {checks.map(({ name, holds }) => (
        <Tag key={name} tone={holds ? 'success' : 'danger'} icon={holds ? 'check' : 'close'}>
          {readable(name)}
        </Tag>
      ))}
    </div>
  );
}

const similarityTones: Readonly<Record<string, Tone>> = {
  // Not the colour of success: a likeness is no approval.
  high: 'neutral',
  medium: 'warning',
  low: 'danger',
};

const notCompared: Readonly<Record<string, string>> = {
  switched_off: 'The comparison of faces is switched off (OUTLAY_FACE_SIMILARITY).',
  not_installed: 'What compares faces is not installed: npm run faces, then identity read.',
  selfie_no_face: 'No face was found on the picture of the recipient.',
  selfie_several_faces: 'The picture of the recipient has several faces.',
  selfie_too_small: 'The face on the picture of the recipient is too small.',
  document_no_face: 'No portrait was found on the document.',
  document_several_faces: 'The document has several faces of a similar size.',
  document_too_small: 'The portrait on the document is too small.',
};

/** By a model; the words that it does not decide are part of the result. */
function Faces({ finding: { face } }: { finding: Finding }): ReactNode {
  const { result, similarity, score, reason } = face;
  const isCompared = result === 'compared';
  return (
    <Panel
      title="Face and portrait, by a model"
      aside={<Tag tone={similarityTones[similarity] ?? 'neutral'}>{readable(result)}</Tag>}
    >
      <div className="stack">
        {isCompared ? (
          <Facts
            facts={[
              { title: 'Similarity', value: readable(similarity) },
              { title: 'Score, 1.00 for the same picture', value: score },
            ]}
          />
        ) : (
          <p className="soft">
            {notCompared[reason] ??
              (result === 'failed'
                ? 'The comparison failed five times; identity read tries again.'
                : 'The faces are being compared.')}
          </p>
        )}
        <p className="small soft">
          This does not decide. Its errors are not measured for your recipients: compare the images
          yourself.
        </p>
      </div>
    </Panel>
  );
}

function Provider({ finding: { provider } }: { finding: Finding }): ReactNode {
  if (provider === null) return null;
  const { opinion, state } = provider;
  return (
    <Panel title="Opinion of the provider" aside={<Tag>{readable(state)}</Tag>}>
      {opinion === null ? (
        <p className="soft">There is none yet.</p>
      ) : (
        <Facts
          facts={[
            { title: 'Outcome', value: readable(opinion.outcome) },
            { title: 'Provider', value: <Foreign>{opinion.provider}</Foreign> },
            {
              title: 'Face and portrait',
              value:
                opinion.face_similarity === null
                  ? 'Not compared'
                  : formatPercent(Number(opinion.face_similarity)),
            },
            { title: 'Liveness', value: readable(opinion.liveness) },
            opinion.reasons.length === 0
              ? undefined
              : { title: 'Reasons', value: <Foreign>{opinion.reasons.join('; ')}</Foreign> },
          ]}
        />
      )}
    </Panel>
  );
}
