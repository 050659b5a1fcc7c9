import { type ReactNode, useEffect, useRef, useState } from 'react';

type Props = { height: number; children: ReactNode };

/** Keeps the place of what is drawn when it comes near the window: on a phone it may be far below. */
export function WhenSeen({ height, children }: Props): ReactNode {
  const [isSeen, setSeen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return;
    const look: IntersectionObserverCallback = (entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    };
    const observer = new IntersectionObserver(look, { rootMargin: '200px' });
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={place} style={{ minHeight: height }}>
      {isSeen ? children : null}
    </div>
  );
}
