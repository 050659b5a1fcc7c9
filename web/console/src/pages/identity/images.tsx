import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useAct } from '../../api/operator.ts';
import type { IdentityImages } from '../../api/operator-types.ts';
import { readable } from '../../format/words.ts';
import { TextField } from '../../ui/field.tsx';
import { ProblemNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/parts.tsx';

type Props = { user: string; onView: (images: IdentityImages) => void };

/**
 * Images of a verification, beside each other. Looking at them needs a reason, and is recorded; they are
 * kept in the memory of this page only.
 */
export function Images({ user, onView }: Props): ReactNode {
  const [reason, setReason] = useState('');
  const view = useAct<IdentityImages>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const path = `identities/${encodeURIComponent(user)}/images`;
    view.mutate({ path, body: { reason: reason.trim() } }, { onSuccess: onView });
  };
  if (view.data !== undefined) return <Viewer images={view.data.images} />;
  return (
    <Panel title="Images">
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Why you look at the images"
          hint="Who saw them, and why, is in the audit log"
          required
          maxLength={1000}
          autoComplete="off"
          value={reason}
          onText={setReason}
        />
        {view.error === null ? null : <ProblemNotice error={view.error} />}
        <div className="row">
          <Button
            type="submit"
            className="button"
            isDisabled={view.isPending || reason.trim() === ''}
          >
            Show the images
          </Button>
        </div>
      </form>
    </Panel>
  );
}

/** In percent of the width of their places. */
const zooms = [100, 150, 200, 300, 400, 600];

/** The document before the face, as one compares them. */
const order = ['document-front', 'document-back', 'face'];

function Viewer({ images }: Pick<IdentityImages, 'images'>): ReactNode {
  const [zoom, setZoom] = useState(0);
  const sorted = images.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  const percent = zooms[zoom] ?? 100;
  const controls = (
    <div className="row">
      <Button
        className="button square"
        aria-label="Zoom out"
        isDisabled={zoom === 0}
        onPress={() => setZoom(zoom - 1)}
      >
        −
      </Button>
      <span className="num small" role="status">
        {percent} %
      </span>
      <Button
        className="button square"
        aria-label="Zoom in"
        isDisabled={zoom === zooms.length - 1}
        onPress={() => setZoom(zoom + 1)}
      >
        +
      </Button>
    </div>
  );
  return (
    <Panel title="Images" aside={controls}>
      <div className="evidence">
        {sorted.map((image) => (
          <Picture key={image.type} image={image} percent={percent} />
        ))}
      </div>
    </Panel>
  );
}

type PictureProps = { image: IdentityImages['images'][number]; percent: number };

type Size = { width: number; height: number };

/** Scrolls with the pointer and the arrow keys once it is larger than its place. */
function Picture({ image, percent }: PictureProps): ReactNode {
  const [turns, setTurns] = useState(0);
  const [size, setSize] = useState<Size>({ width: 1, height: 1 });
  const label = readable(image.type.replace('-', ' '));
  const isAcross = turns % 2 === 1;
  const { width, height } = size;
  return (
    <figure>
      <figcaption className="row between">
        <strong>{label}</strong>
        <Button
          className="button plain"
          aria-label={`Turn: ${label}`}
          onPress={() => setTurns((turns + 1) % 4)}
        >
          Turn
        </Button>
      </figcaption>
      <div className="pane" tabIndex={0} role="group" aria-label={`Image: ${label}`}>
        <div
          style={{
            width: `${percent}%`,
            aspectRatio: isAcross ? `${height} / ${width}` : `${width} / ${height}`,
          }}
        >
          <img
            src={`data:${image.media_type};base64,${image.content}`}
            alt={label}
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
              setSize({ width: naturalWidth, height: naturalHeight })
            }
            style={{
              // Turned, the height of the image is the width of its place.
              width: `${isAcross ? (100 * width) / height : 100}%`,
              rotate: `${turns * 90}deg`,
            }}
          />
        </div>
      </div>
    </figure>
  );
}
