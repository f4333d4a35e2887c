import type { Figure } from '../figure.ts';
import { openReaders } from '../gateway/readers.ts';
import { collectedMemoryKb } from './processes.ts';

export interface IdleSocketOptions {
  gateway: { url: string; pid: number };
  /** Of all replicas of session, which hold the other end of subscriptions. */
  sessionPids: number[];
  token: string;
  sessionId: number;
  short: boolean;
}

/** What an open socket takes of a gateway's memory, and what one more with a subscription takes of gateway and session. */
export async function idleSocketFigures(options: IdleSocketOptions): Promise<Figure[]> {
  const { gateway, sessionPids, token, sessionId, short } = options;
  const count = short ? 20 : 2_000;
  const open = (sockets: number, subscribe: boolean) =>
    openReaders({ url: gateway.url, count: sockets, token, subscribe, sessionId });
  const first = [await open(25, false), await open(5, true)]; // what the first bring in for good is no socket's own
  const empty = await collectedMemoryKb([gateway.pid]);
  const idle = await open(count, false);
  const between = await collectedMemoryKb([gateway.pid]);
  const betweenAtSession = await collectedMemoryKb(sessionPids);
  const subscribers = await open(count, true);
  const after = await collectedMemoryKb([gateway.pid]);
  const afterAtSession = await collectedMemoryKb(sessionPids);
  await Promise.all([...first, idle, subscribers].map((readers) => readers.close()));
  return [
    { name: `mesh: memory of an idle socket, of ${count}`, value: (between - empty) / count, unit: 'KB', goal: 60 },
    { name: 'mesh: memory of one with a subscription', value: (after - between) / count, unit: 'KB' },
    {
      name: 'mesh: the same at session',
      value: Math.max(0, afterAtSession - betweenAtSession) / count,
      unit: 'KB',
    },
  ];
}
