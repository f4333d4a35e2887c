import { randomUUID } from 'node:crypto';
import type { Caller } from '@parley/chassis/caller';
import { UsageError } from './usage-error.ts';

/** On whose behalf a call is made, as it was typed. */
export interface CallerOptions {
  kind?: string | undefined;
  tenant?: string | undefined;
  user?: string | undefined;
  session?: string | undefined;
}

/** What audit logs show for calls that were typed. */
const us = 'scripts/rpc';

/** Without a kind, that of the ids which are given: a session, a user, else the mesh itself. @throws UsageError */
export function callerOf(options: CallerOptions): Caller {
  const tenantId = idOf('tenant', options.tenant);
  const userId = idOf('user', options.user);
  const sessionId = idOf('session', options.session);
  const kind = options.kind ?? (sessionId !== undefined ? 'session' : userId !== undefined ? 'user' : 'service');
  if (kind !== 'user' && userId !== undefined) throw new UsageError('--user goes with --kind user only');
  if (kind !== 'session' && sessionId !== undefined) throw new UsageError('--session goes with --kind session only');

  const common = { tenantId: tenantId ?? null, requestId: randomUUID() };
  switch (kind) {
    case 'service':
      return { kind, service: us, ...common };
    case 'user':
      if (userId === undefined) throw new UsageError('--kind user needs --user ID');
      return { kind, userId, displayName: us, ...common };
    case 'session':
      if (sessionId === undefined) throw new UsageError('--kind session needs --session ID');
      if (tenantId === undefined) throw new UsageError('--kind session needs --tenant ID');
      return { kind, sessionId, ...common };
    case 'apiKey':
      if (tenantId === undefined) throw new UsageError('--kind apiKey needs --tenant ID');
      return { kind, ...common };
    default:
      throw new UsageError(`--kind is none of service, user, apiKey and session: ${kind}`);
  }
}

function idOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const id = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (id < 1 || id > 2_147_483_647) throw new UsageError(`--${option} is no id: ${text}`);
  return id;
}
