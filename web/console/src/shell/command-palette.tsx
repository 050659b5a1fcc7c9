import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useDeferredValue, useState } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import type { Payout, User } from '../api/client.ts';
import { useApi, useSession } from '../api/context.tsx';
import { formatAmount } from '../format/amount.ts';
import { describeStatus } from '../format/words.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Foreign } from '../ui/parts.tsx';
import { groups, sandboxSection } from './sections.ts';

type Entry = { id: string; to: string; icon: IconName; label: string; note: string };

/** Finds pages, payouts and recipients from the keyboard. */
export function CommandPalette({ onClose }: { onClose: () => void }): ReactNode {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const navigate = useNavigate();
  const entries = useEntries(useDeferredValue(text.trim()));
  const chosen = Math.min(active, entries.length - 1);
  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    void navigate({ to: entry.to });
  };
  const move = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') return go(entries[chosen]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || entries.length === 0) return;
    event.preventDefault();
    setActive((chosen + step + entries.length) % entries.length);
  };
  return (
    <ModalOverlay className="scrim" isOpen isDismissable onOpenChange={onClose}>
      <Modal className="dialog palette">
        <Dialog aria-label="Search" className="palette">
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={entries[chosen] === undefined ? undefined : `palette-${chosen}`}
            aria-label="Search pages, payouts and recipients"
            placeholder="A page, a payout, your own identifier, a name"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setActive(0);
            }}
            onKeyDown={move}
          />
          <Entries entries={entries} active={chosen} onChoose={go} />
          <footer>
            <span>
              <kbd className="kbd">↑↓</kbd> choose
            </span>
            <span>
              <kbd className="kbd">Enter</kbd> open
            </span>
            <span>
              <kbd className="kbd">Esc</kbd> close
            </span>
          </footer>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

type EntriesProps = {
  entries: readonly Entry[];
  active: number;
  onChoose: (entry: Entry) => void;
};

function Entries({ entries, active, onChoose }: EntriesProps): ReactNode {
  return (
    <div className="list" role="listbox" id="palette-list" aria-label="Results">
      {entries.map((entry, index) => (
        <div
          key={entry.id}
          id={`palette-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          data-focused={index === active ? true : undefined}
          className="option"
          onClick={() => onChoose(entry)}
          onKeyDown={() => undefined}
        >
          <Icon name={entry.icon} />
          <span className="clip">
            <Foreign>{entry.label}</Foreign>
          </span>
          <span className="small faint clip">{entry.note}</span>
        </div>
      ))}
      {entries.length === 0 ? (
        <p className="group" role="status">
          Nothing found. Payouts are found by their token or your client transfer id, recipients by
          name, email or your identifier.
        </p>
      ) : null}
    </div>
  );
}

function useEntries(text: string): Entry[] {
  const api = useApi();
  const { environment } = useSession().session;
  const isAsking = text.length >= 3;
  const { data: found = [] } = useQuery({
    queryKey: [api.account, 'palette', text],
    enabled: isAsking,
    staleTime: 30_000,
    queryFn: async () => {
      const byToken = text.startsWith('payout_')
        ? { payout_token: text }
        : { client_transfer_id: text };
      // A text that one search refuses can be what the other one finds.
      const [payouts, users] = await Promise.allSettled([
        api.readPage<Payout>('/payout', { ...byToken, number_of_records: 5 }),
        api.readPage<User>('/user', { name: text, number_of_records: 5 }),
      ]);
      return [
        ...(payouts.status === 'fulfilled' ? payouts.value.rows.map(describePayout) : []),
        ...(users.status === 'fulfilled' ? users.value.rows.map(describeUser) : []),
      ];
    },
  });
  const sections = groups.flatMap((group) => group.sections);
  if (environment === 'staging') sections.push(sandboxSection);
  const wanted = text.toLowerCase();
  const pages = sections
    .filter(({ label, keywords }) => `${label} ${keywords}`.toLowerCase().includes(wanted))
    .map(({ to, label, icon }) => ({ id: to, to, icon, label, note: '' }));
  return [...pages, ...(isAsking ? found : [])];
}

function describePayout(payout: Payout): Entry {
  const { payout_token: token, user_token: user, destination_currency_code: currency } = payout;
  return {
    id: token,
    to: `/payouts/${user}/${token}`,
    icon: 'payout',
    label: payout.client_transfer_id,
    note: `${formatAmount(payout.destination_amount, currency)} ${currency} · ${describeStatus(payout.status).label}`,
  };
}

function describeUser({ user_token: token, first_name, last_name, email }: User): Entry {
  return {
    id: token,
    to: `/recipients/${token}`,
    icon: 'recipients',
    label: `${first_name} ${last_name}`,
    note: email,
  };
}
