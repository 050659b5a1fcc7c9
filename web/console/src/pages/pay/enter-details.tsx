import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Api, Schemas, User } from '../../api/client.ts';
import { useApi } from '../../api/context.tsx';
import { findFault } from '../../ui/faults.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { Skeleton } from '../../ui/parts.tsx';
import type { Choice } from './destinations.ts';
import {
  type Attribute,
  findChoiceHint,
  findFormFault,
  listAsked,
  listChoices,
  listGroups,
} from './requirements.ts';

/** Done by the recipient on a page of its own, not in this form. */
const identityType = 'IDSelfieCollection';

type Props = { user: User; choice: Choice; onStored: (attributeSet: string) => void };

/** The form that the destination asks for, made from its requirements. */
export function EnterDetails({ user, choice, onStored }: Props): ReactNode {
  const api = useApi();
  const { token, currency } = choice.offer;
  const path = { user_token: user.user_token, destination_token: token, currency };
  const { data, error } = useQuery({
    queryKey: keyOf(api, path),
    queryFn: () => api.readAttributes(path),
    staleTime: 0,
  });
  if (error !== null) return <ProblemNotice error={error} />;
  if (data === undefined) return <Skeleton height={140} />;
  return <DetailsForm key={token} path={path} attributes={data} onStored={onStored} />;
}

const keyOf = ({ account }: Api, path: Path) => [account, 'attributes', path];

type Path = { user_token: string; destination_token: string; currency: string };
type FormProps = {
  path: Path;
  attributes: Attribute[];
  onStored: (attributeSet: string) => void;
};

type Texts = Record<string, string>;

function useStore({ path, onStored }: Pick<FormProps, 'path' | 'onStored'>) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (values: { token: string; value: string }[]) =>
      api.storeAttributes({ ...path, body: { values } }),
    onSuccess: ({ attr_set_token: set, missing }) => {
      // The recipient does that one, later; the commit says if it has to be before.
      const open = missing.filter(({ type }) => type !== identityType);
      if (open.length === 0) onStored(set);
    },
    // A provider may ask for more beside these values, or for something else by now.
    onSettled: () => queries.invalidateQueries({ queryKey: keyOf(api, path) }),
  });
}

function DetailsForm({ path, attributes, onStored }: FormProps): ReactNode {
  const groups = listGroups(attributes);
  const [chosen, setChosen] = useState<Texts>(() =>
    Object.fromEntries(groups.map(({ group, options }) => [group, options[0]?.option ?? ''])),
  );
  const [values, setValues] = useState<Texts>(() =>
    Object.fromEntries(attributes.map(({ token, value }) => [token, value])),
  );
  const [isChecked, setChecked] = useState(false);
  const asked = listAsked(attributes, chosen).filter(({ type }) => type !== identityType);
  const identity = attributes.find(({ type }) => type === identityType);
  const store = useStore({ path, onStored });
  const read = (token: string): string => (values[token] ?? '').trim();
  const missing = store.data?.missing ?? [];
  const isMissing = ({ token }: Attribute): boolean =>
    read(token) === '' && missing.some((one) => one.token === token);
  const findFaultOf = (attribute: Attribute): string | undefined =>
    findFault(store.error, attribute.token) ??
    (isMissing(attribute) ? 'Required beside these details' : undefined) ??
    (isChecked ? findFormFault(attribute, read(attribute.token)) : undefined);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setChecked(true);
    if (asked.some((entry) => findFormFault(entry, read(entry.token)) !== undefined)) return;
    const filled = asked.map(({ token }) => ({ token, value: read(token) }));
    store.mutate(filled.filter(({ value }) => value !== ''));
  };
  return (
    <form className="stack" onSubmit={submit} noValidate>
      {store.error === null ? null : <ProblemNotice error={store.error} />}
      <Missing missing={missing.filter(({ token }) => !asked.some((one) => one.token === token))} />
      {groups.map(({ group, options }) => (
        <SelectField
          key={group}
          label="Pay by"
          value={chosen[group] ?? ''}
          onText={(option) => setChosen({ ...chosen, [group]: option })}
          choices={options.map(({ option, label }) => ({ value: option, label }))}
        />
      ))}
      <div className="fields">
        {asked.map((attribute) => (
          <AttributeField
            key={attribute.token}
            attribute={isMissing(attribute) ? { ...attribute, is_optional: false } : attribute}
            value={values[attribute.token] ?? ''}
            fault={findFaultOf(attribute)}
            onText={(value) => setValues({ ...values, [attribute.token]: value })}
          />
        ))}
      </div>
      {asked.length === 0 ? <p className="soft">This payer needs no further details.</p> : null}
      {identity === undefined || identity.value === '' ? null : <Identity link={identity.value} />}
      <div className="row">
        <Button
          type="submit"
          className="button primary"
          isDisabled={store.isPending || asked.length === 0}
        >
          {store.isPending ? 'Checking' : 'Check and continue'}
        </Button>
      </div>
    </form>
  );
}

type MissingDetails = Schemas['StoredAttributes']['missing'];

function Missing({ missing }: { missing: MissingDetails }): ReactNode {
  return missing.map(({ token, field, label, why }) => (
    <Notice key={token + field} tone="warning" title={label}>
      <p>{why}</p>
    </Notice>
  ));
}

/** Links come from the service, and are still opened only where they are links. */
function Identity({ link }: { link: string }): ReactNode {
  return (
    <Notice tone="neutral" icon="approve" title="The recipient has to verify their identity">
      <p>
        {/^https?:\/\//.test(link) ? (
          <a href={link} target="_blank" rel="noreferrer">
            The page for the recipient
          </a>
        ) : (
          link
        )}
      </p>
    </Notice>
  );
}

type AttributeFieldProps = {
  attribute: Attribute;
  value: string;
  fault: string | undefined;
  onText: (value: string) => void;
};

function AttributeField({ attribute, value, fault, onText }: AttributeFieldProps): ReactNode {
  const { label, is_optional: isOptional, input_type: kind } = attribute;
  if (kind === 'options') {
    const none = { value: '', label: isOptional ? 'None' : 'Choose one' };
    const choices = [none, ...listChoices(attribute)];
    const hint = findChoiceHint(attribute);
    return <SelectField {...{ label, isOptional, fault, hint, value, choices, onText }} />;
  }
  const type = kind === 'date' ? 'date' : 'text';
  const { expected_value: form } = attribute;
  const hint = kind === 'date' || form === label ? undefined : form;
  return (
    <TextField
      {...{ label, isOptional, fault, value, onText, type }}
      hint={hint}
      autoComplete="off"
      spellCheck={false}
      maxLength={1000}
    />
  );
}
