import type { ReactNode } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';

type Props = { onOpenChange: (isOpen: boolean) => void; children: ReactNode };

/** The navigation on a phone, while it is open. */
export function PhoneDrawer({ onOpenChange, children }: Props): ReactNode {
  return (
    <ModalOverlay className="scrim drawer" isOpen onOpenChange={onOpenChange} isDismissable>
      <Modal>
        <Dialog className="dialog" aria-label="Menu">
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
