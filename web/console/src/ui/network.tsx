import type { ReactNode } from 'react';

/** The chain that a token arrives on; nothing for other currencies. What is sent on another one is lost. */
export function Network({ name }: { name: string }): ReactNode {
  return name === '' ? null : <span className="small faint">on {name}</span>;
}
