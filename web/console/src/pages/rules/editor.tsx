import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useSession } from '../../api/context.tsx';
import { useAct, useMay } from '../../api/operator.ts';
import type { ApprovalPolicyVersion, ApprovalPreview } from '../../api/operator-types.ts';
import { Act } from '../../ui/act.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/parts.tsx';
import {
  type DocumentFault,
  faultsWithin,
  listFaults,
  type Members,
  readDocument,
  readEntries,
  writeDocument,
} from '../documents/document.ts';
import { DocumentFields, PeriodField } from '../documents/fields.tsx';
import { PreviewResult } from './preview.tsx';
import { RuleForm } from './rule-form.tsx';

const noRules: Members = { rules: [] };
const newRule: Members = { name: 'New rule', when: {} };

type Previewed = { outcome: ApprovalPreview };

type Scope = { account?: string };

/** The preview of a text; of another text it is forgotten. */
function usePreview(text: string, scope: Scope) {
  const [tried, setTried] = useState<{ text: string; days: string }>();
  const preview = useAct<Previewed>();
  const isSame = tried?.text === text;
  const tryOut = (policy: Members, days: string): void => {
    setTried({ text, days });
    preview.mutate({ path: 'approval-rules/preview', body: { ...scope, policy, days } });
  };
  return {
    tryOut,
    isPending: preview.isPending,
    error: isSame ? preview.error : null,
    result: isSame ? preview.data?.outcome : undefined,
    days: tried?.days ?? '',
  };
}

type Props = {
  /** The account whose policy it is; "": that of all accounts. */
  account: string;
  inForce: ApprovalPolicyVersion | undefined;
};

/** A policy as forms and as its JSON document; it is tried on past payouts before it is set. */
export function PolicyEditor({ account, inForce }: Props): ReactNode {
  const { operator } = useSession().session;
  const [text, setText] = useState(() => writeDocument(inForce?.policy ?? noRules));
  const [basis, setBasis] = useState(inForce?.version);
  const scope = account === '' ? {} : { account };
  const preview = usePreview(text, scope);
  // One's own version is what one has just edited.
  const isOverridden = inForce?.version !== basis && inForce?.set_by !== operator.name;
  const takeNewest = (): void => {
    setText(writeDocument(inForce?.policy ?? noRules));
    setBasis(inForce?.version);
  };
  return (
    <Panel title="Change the rules">
      <div className="stack">
        {!isOverridden || inForce === undefined ? null : (
          <Notice tone="warning" title={`Version ${inForce.version} is in force now`}>
            <p>What you edit began with {basis === undefined ? 'no rules' : `version ${basis}`}.</p>
            <Button className="button" onPress={takeNewest}>
              Begin again with version {inForce.version}
            </Button>
          </Notice>
        )}
        <PolicyFields text={text} faults={listFaults(preview.error)} onText={setText} />
        <Trial policy={readDocument(text)} scope={scope} preview={preview} />
        {preview.error === null ? null : <ProblemNotice error={preview.error} />}
        {preview.result === undefined ? null : (
          <PreviewResult preview={preview.result} days={preview.days} />
        )}
      </div>
    </Panel>
  );
}

type TrialProps = {
  policy: Members | undefined;
  scope: Scope;
  preview: ReturnType<typeof usePreview>;
};

/** Tries the policy on the past; what was tried can be put in force. */
function Trial({ policy, scope, preview }: TrialProps): ReactNode {
  const mayDecide = useMay('decide');
  const [days, setDays] = useState('30');
  const isTried = preview.result !== undefined;
  return (
    <>
      <div className="row grow trial">
        <PeriodField label="Payouts of the last" days={days} onDays={setDays} />
        <Button
          className="button primary"
          isDisabled={policy === undefined || preview.isPending}
          onPress={() => (policy === undefined ? undefined : preview.tryOut(policy, days))}
        >
          {preview.isPending ? 'Trying' : 'Try on the past'}
        </Button>
        {isTried && mayDecide ? (
          <Act
            label="Put in force"
            title="Put the rules in force"
            tone="danger"
            request={{ path: 'approval-rules', method: 'PUT', body: { ...scope, policy } }}
          >
            <p>
              They replace the whole policy. Payouts that already wait for approval keep waiting.
            </p>
            <p>In live, and where the policy says so, a second operator has to approve it.</p>
          </Act>
        ) : null}
      </div>
      {isTried || !mayDecide ? null : (
        <p className="small soft">Rules can be put in force after a preview.</p>
      )}
    </>
  );
}

type FieldsProps = {
  text: string;
  faults: readonly DocumentFault[];
  onText: (text: string) => void;
};

function PolicyFields({ text, faults, onText }: FieldsProps): ReactNode {
  const policy = readDocument(text);
  const rules = policy === undefined ? undefined : readEntries(policy, 'rules');
  const write = (next: readonly Members[]): void =>
    onText(writeDocument({ ...policy, rules: next }));
  return (
    <DocumentFields
      text={text}
      hint="The same as JSON. Examples, balances and creators are edited here"
      rows={22}
      faults={faults.filter(({ place }) => !place.startsWith('rules.'))}
      onText={onText}
    >
      {rules === undefined ? (
        <p className="soft">
          The document is not JSON with a list of rules. Correct it, and the form is back.
        </p>
      ) : (
        <>
          {rules.length === 0 ? <p className="soft">No rules: no payout is held.</p> : null}
          {rules.map((rule, index) => (
            <RuleForm
              // Rules have no identity but their place.
              key={`rule ${String(index)}`}
              rule={rule}
              faults={faultsWithin(faults, `rules.${index}`)}
              onRule={(changed) => write(rules.with(index, changed))}
              onRemove={() => write(rules.toSpliced(index, 1))}
            />
          ))}
          <div className="row">
            <Button className="button" onPress={() => write([...rules, newRule])}>
              Add a rule
            </Button>
          </div>
        </>
      )}
    </DocumentFields>
  );
}
