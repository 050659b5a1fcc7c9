import type { ReactNode } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay, type ModalOverlayProps } from 'react-aria-components/Modal';

type Props = Pick<ModalOverlayProps, 'isOpen' | 'onOpenChange'> & {
  children: (given: { close: () => void }) => ReactNode;
};

/** A dialog before the page, which a click beside it closes. Inside of a trigger, that opens it. */
export function PageDialog({ children, ...overlay }: Props): ReactNode {
  return (
    <ModalOverlay className="scrim" isDismissable {...overlay}>
      <Modal className="dialog">
        <Dialog className="act">{children}</Dialog>
      </Modal>
    </ModalOverlay>
  );
}
