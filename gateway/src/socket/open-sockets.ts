import type { Caller } from '@parley/chassis/caller';
import { isDomainError } from '@parley/chassis/errors';
import type { Logger } from '@parley/chassis/log';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { Origin } from '../credentials/authenticate.ts';
import type { Presented } from '../credentials/presented.ts';

/** A socket from its `connection_init` on. */
export interface OpenSocket {
  /** What it showed when it was opened. An access token is verified then, and counts as long as its sign-in does. */
  presented: Presented;
  origin: Origin;
  /** Who it belonged to when that was last asked; undefined where nothing was shown, or it is not known yet. */
  owner?: Caller | undefined;
  /** Closes it because its credential no longer holds. */
  refuse(): void;
}

export interface OpenSockets {
  /** Takes a socket in unless its credential is refused; tells whether it did. */
  admit(socket: OpenSocket): Promise<boolean>;
  drop(socket: OpenSocket): void;
  /** Looks again at the credentials of the sockets that a change concerns; undefined: of all. */
  recheck(changed: CredentialsChanged | undefined): Promise<void>;
}

/** How long after identity could not be asked it is asked again, in ms. */
const retryMs = 1_000;

/** Keeps sockets only as long as what stands behind their credentials. */
export function openSockets(
  ownerOf: (presented: Presented, origin: Origin) => Promise<Caller | undefined>,
  log: Logger,
): OpenSockets {
  const open = new Set<OpenSocket>();

  async function holds(socket: OpenSocket): Promise<boolean> {
    try {
      socket.owner = await ownerOf(socket.presented, socket.origin);
      return true;
    } catch (error) {
      if (isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden')) return false;
      // Only a clear refusal ends a socket: while identity is away nobody is thrown out, and it is asked again.
      log.warn({ err: error }, "a socket's credential could not be looked at");
      setTimeout(() => void lookAgain(socket), retryMs).unref();
      return true;
    }
  }

  async function lookAgain(socket: OpenSocket): Promise<void> {
    if (open.has(socket) && !(await holds(socket))) socket.refuse();
  }

  return {
    async admit(socket) {
      open.add(socket); // before it is looked at, so that a change in between is not missed
      if (await holds(socket)) return true;
      open.delete(socket);
      return false;
    },
    drop: (socket) => void open.delete(socket),
    async recheck(changed) {
      await Promise.all([...open].filter((socket) => mayConcern(changed, socket)).map(lookAgain));
    },
  };
}

function mayConcern(changed: CredentialsChanged | undefined, { presented, owner }: OpenSocket): boolean {
  if (!presented.bearer && !presented.apiKey) return false;
  if (!owner || !changed?.whose) return true;
  const { $case, value } = changed.whose;
  if ($case === 'signInId') return owner.signInId === value;
  return $case === 'userId' ? owner.userId === value : owner.tenantId === value;
}
