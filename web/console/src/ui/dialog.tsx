import type { ReactNode } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';

type Props = {
  close: () => void;
  /** Only its own buttons close it, so that a stray click or key does not lose what it shows. */
  isHeld?: boolean;
  children: ReactNode;
};

/** A dialog before the page, which a click beside it or Escape closes. */
export function PageDialog({ close, isHeld = false, children }: Props): ReactNode {
  return (
    <ModalOverlay
      className="scrim"
      isOpen
      onOpenChange={close}
      isDismissable={!isHeld}
      isKeyboardDismissDisabled={isHeld}
    >
      <Modal className="dialog">
        <Dialog className="act">{children}</Dialog>
      </Modal>
    </ModalOverlay>
  );
}
