import type { Caller } from '@parley/chassis/caller';
import { isDomainError } from '@parley/chassis/errors';
import type { Logger } from '@parley/chassis/log';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { Origin, SocketOwner } from '../credentials/authenticate.ts';
import type { Presented } from '../credentials/presented.ts';
import type { Standing } from '../credentials/standing.ts';

/** A socket from its `connection_init` on. */
export interface OpenSocket {
  /** What it showed when it was opened. An access token is verified then, and counts as long as its sign-in does. */
  presented: Presented;
  origin: Origin;
  /** Closes it because its credential no longer holds. */
  refuse(): void;
}

export interface OpenSockets {
  /** Takes a socket in unless its credential is refused; tells whether it did. */
  admit(socket: OpenSocket): Promise<boolean>;
  drop(socket: OpenSocket): void;
  /** Looks again at the credentials of the sockets that a change concerns; undefined: of all. */
  recheck(changed: CredentialsChanged | undefined): Promise<void>;
  /** Looks at nothing any more. */
  stop(): void;
}

export interface OpenSocketsOptions {
  ownerOf: (presented: Presented, origin: Origin) => Promise<SocketOwner | undefined>;
  standing: Pick<Standing, 'renew'>;
  /** How long a socket lives at most, whatever it showed. */
  maxAgeMs: number;
  /** How long one that showed no credential does: every subscription needs one. */
  bareAgeMs: number;
  log: Logger;
}

/** What is kept of an open socket. */
interface Held {
  socket: OpenSocket;
  openedAtMs: number;
  admitted: boolean;
  /** Who it belonged to when that was last asked; undefined where nothing was shown, or it is not known yet. */
  owner?: Caller | undefined;
  leaving?: NodeJS.Timeout;
}

/** How often every open socket is looked at, should an announcement be lost. */
const sweepMs = 500;

/** How long a socket outlives its session, so that the events of the end arrive before the close. */
const lingerMs = 300;

/** Keeps sockets only as long as what stands behind their credentials. */
export function openSockets({ ownerOf, standing, maxAgeMs, bareAgeMs, log }: OpenSocketsOptions): OpenSockets {
  const open = new Map<OpenSocket, Held>();
  let sweeping: Promise<void> | undefined;

  /** The verdict on a credential, told to all sockets that showed it. Undefined: nobody can tell now. */
  async function judge({ socket }: Held): Promise<((held: Held) => boolean) | undefined> {
    try {
      const owner = await ownerOf(socket.presented, socket.origin);
      return (held) => {
        const before = held.owner?.tenantId ?? null;
        held.owner = owner?.caller;
        if (owner?.over) return held.leaving !== undefined || linger(held);
        // Whoever goes to another tenant leaves what they had open in this one.
        return before === null || before === owner?.caller.tenantId;
      };
    } catch (error) {
      if (isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden')) return () => false;
      // Only a clear refusal ends a socket: while identity is away nobody is thrown out, and the next sweep asks again.
      log.warn({ err: error }, "a socket's credential could not be looked at");
      return undefined;
    }
  }

  /** A socket whose session has ended leaves; one that comes when it is over already does not get in. */
  function linger(held: Held): boolean {
    if (!held.admitted) return false;
    held.leaving = setTimeout(() => held.socket.refuse(), lingerMs).unref();
    return true;
  }

  /** One question for each credential, however many sockets showed it. */
  async function lookAgain(sockets: Held[]): Promise<void> {
    const groups = Map.groupBy(sockets, (held) => credentialOf(held) ?? held);
    await Promise.all(
      [...groups.values()].map(async (group) => {
        const [first] = group;
        const holds = first && (await judge(first));
        for (const held of holds ? group : []) if (open.has(held.socket) && !holds?.(held)) held.socket.refuse();
      }),
    );
  }

  async function sweep(): Promise<void> {
    const now = performance.now();
    const shown: Held[] = [];
    for (const held of open.values()) {
      const isShown = showsAny(held);
      if (now - held.openedAtMs >= (isShown ? maxAgeMs : Math.min(bareAgeMs, maxAgeMs))) held.socket.refuse();
      else if (isShown) shown.push(held);
    }
    standing.renew(
      shown.flatMap(({ owner }) => owner ?? []),
      'open sockets',
    );
    await lookAgain(shown);
  }

  const timer = setInterval(() => {
    if (open.size === 0) return;
    sweeping ??= sweep()
      .catch((error: unknown) => log.error({ err: error }, 'sockets could not be checked'))
      .finally(() => {
        sweeping = undefined;
      });
  }, sweepMs).unref();

  return {
    async admit(socket) {
      const held: Held = { socket, openedAtMs: performance.now(), admitted: false };
      open.set(socket, held); // before it is looked at, so that a change in between is not missed
      const holds = await judge(held);
      if (holds && !holds(held)) {
        open.delete(socket);
        return false;
      }
      held.admitted = true;
      return true;
    },
    drop(socket) {
      clearTimeout(open.get(socket)?.leaving);
      open.delete(socket);
    },
    recheck: (changed) => lookAgain([...open.values()].filter((held) => mayConcern(changed, held))),
    stop: () => clearInterval(timer),
  };
}

/** The same for sockets of which one answer tells about all; undefined where that is not known. */
function credentialOf({ socket: { presented }, owner }: Held): string | undefined {
  if (!owner || (presented.bearer && presented.apiKey)) return undefined;
  return `${owner.kind} ${owner.signInId ?? owner.apiKeyId ?? owner.sessionId}`;
}

function showsAny({ socket: { presented } }: Held): boolean {
  return Boolean(presented.bearer ?? presented.apiKey);
}

function mayConcern(changed: CredentialsChanged | undefined, held: Held): boolean {
  if (!showsAny(held)) return false;
  const { owner } = held;
  if (!owner || !changed?.whose) return true;
  const { $case, value } = changed.whose;
  if ($case === 'signInId') return owner.signInId === value;
  if ($case === 'userId') return owner.userId === value;
  return $case === 'sessionId' ? owner.sessionId === value : owner.tenantId === value;
}
