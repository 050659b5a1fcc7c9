import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Payout } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { download } from '../ui/download.ts';
import { Icon } from '../ui/icon.tsx';
import { ProblemNotice } from '../ui/notice.tsx';

/** What a person can do with a payout. */
export function PayoutActions({ payout }: { payout: Payout }): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const mayWrite = useMay('operate');
  const { user_token, payout_token } = payout;
  const receipt = useMutation({
    mutationFn: async () => {
      const path = `/payout/${user_token}/${payout_token}/receipt`;
      const accept = 'application/pdf';
      const { body } = await api.request({ method: 'GET', path }, { accept });
      download(body as BlobPart, { name: `receipt-${payout_token}.pdf`, type: accept });
    },
  });
  const cancel = useMutation({
    mutationFn: () => api.cancelPayout({ user_token, payout_token }),
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account] }),
  });
  return (
    <>
      {payout.committed_at === '' ? null : (
        <Button className="button" isDisabled={receipt.isPending} onPress={() => receipt.mutate()}>
          <Icon name="download" />
          {receipt.isPending ? 'Making the receipt' : 'Receipt'}
        </Button>
      )}
      {payout.cancelable && mayWrite ? (
        <Button
          className="button danger"
          isDisabled={cancel.isPending}
          onPress={() => cancel.mutate()}
        >
          Cancel the payout
        </Button>
      ) : null}
      {receipt.error === null ? null : <ProblemNotice error={receipt.error} />}
      {cancel.error === null ? null : <ProblemNotice error={cancel.error} />}
    </>
  );
}
