import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Heading } from 'react-aria-components/Dialog';
import { PageDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';

type Props = { save: (name: string) => void; onClose: () => void };

/** Asks for the name of a view. */
export function SaveViewDialog({ save, onClose }: Props): ReactNode {
  return (
    <PageDialog close={onClose}>
      <NameView save={save} close={onClose} />
    </PageDialog>
  );
}

type NameProps = { save: (name: string) => void; close: () => void };

function NameView({ save, close }: NameProps): ReactNode {
  const [name, setName] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save(name.trim());
    close();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Heading slot="title">Save this view</Heading>
      <p className="soft">
        Filters and search under a name, in this browser. The address of the page is the same view
        for others.
      </p>
      <TextField
        label="Name"
        value={name}
        onText={setName}
        required
        maxLength={40}
        autoComplete="off"
      />
      <div className="row">
        <Button type="submit" className="button primary" isDisabled={name.trim() === ''}>
          Save
        </Button>
        <Button className="button plain" onPress={close}>
          Back
        </Button>
      </div>
    </form>
  );
}
