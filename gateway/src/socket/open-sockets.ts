import type { Caller } from '@parley/chassis/caller';
import { isDomainError } from '@parley/chassis/errors';
import type { Logger } from '@parley/chassis/log';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { Origin, OwnerOf, OwnerOfOptions, SocketOwner } from '../credentials/authenticate.ts';
import type { Presented } from '../credentials/presented.ts';
import type { Standing } from '../credentials/standing.ts';
import { countedWarning } from './counted-warning.ts';

/** A socket from its `connection_init` on. */
export interface OpenSocket {
  /** What it showed when it was opened. An access token is verified then, and counts as long as its sign-in does. */
  presented: Presented;
  origin: Origin;
  /** Closes it because its credential no longer holds. */
  refuse(): void;
}

/** `unknown`: nobody can tell now whether its credential is any good, so that the client may come again. */
export type Admission = 'admitted' | 'refused' | 'unknown';

export interface OpenSockets {
  /** Takes a socket in if its credential is good. */
  admit(socket: OpenSocket): Promise<Admission>;
  drop(socket: OpenSocket): void;
  /** Looks again at the credentials of the sockets that a change concerns; undefined: of all. */
  recheck(changed: CredentialsChanged | undefined): void;
  /** Looks at nothing any more. */
  stop(): void;
}

export interface OpenSocketsOptions {
  ownerOf: OwnerOf;
  standing: Pick<Standing, 'renew'>;
  /** How long a socket lives at most, whatever it showed. */
  maxAgeMs: number;
  /** How long one that showed no credential does: every subscription needs one. */
  bareAgeMs: number;
  log: Logger;
}

/** What is kept of a socket. */
interface Held {
  socket: OpenSocket;
  openedAtMs: number;
  /** Who it belonged to when that was last asked; undefined where nothing was shown, or it is not known yet. */
  owner?: Caller | undefined;
  /** What it has in common with all that showed the same, once it is admitted. */
  credential?: Credential;
  /** While it is being admitted: something has changed that may concern it. */
  changed: boolean;
  /** Aborts when it is gone. */
  gone: AbortController;
  leaving?: NodeJS.Timeout;
}

/** One question is asked for all sockets that showed the same, and the next only after that. */
interface Credential {
  key: string;
  holders: Set<Held>;
  /** Set while it is asked about; `again`: something has changed meanwhile. */
  question?: { again: boolean } | undefined;
  /** Aborts when the last holder has gone. */
  gone: AbortController;
}

type Verdict = { owner: SocketOwner | undefined } | 'refused' | 'unknown';

/** How often every open socket is looked at, should an announcement be lost. */
const sweepMs = 500;

/** How long a socket outlives its session, so that the events of the end arrive before the close. */
const lingerMs = 300;

/** Keeps sockets only as long as what stands behind their credentials. */
export function openSockets({ ownerOf, standing, maxAgeMs, bareAgeMs, log }: OpenSocketsOptions): OpenSockets {
  const open = new Map<OpenSocket, Held>();
  const credentials = new Map<string, Credential>();
  const warnUnknown = countedWarning(log, 'socket credentials could not be looked at');

  async function judge({ presented, origin }: OpenSocket, options: Required<OwnerOfOptions>): Promise<Verdict> {
    try {
      return { owner: await ownerOf(presented, origin, options) };
    } catch (error) {
      if (isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden')) return 'refused';
      // Only a clear refusal ends a socket: while identity is away nobody is thrown out, and the next sweep asks again.
      if (!options.signal.aborted) warnUnknown(error);
      return 'unknown';
    }
  }

  function leave(held: Held): void {
    const { socket, credential } = held;
    if (!open.delete(socket)) return;
    clearTimeout(held.leaving);
    held.gone.abort();
    credential?.holders.delete(held);
    if (credential?.holders.size !== 0) return;
    credentials.delete(credential.key);
    credential.gone.abort();
  }

  function refuse(held: Held): void {
    leave(held);
    held.socket.refuse();
  }

  /** Shares the questions of all that showed the same. */
  function join(held: Held, owner: Caller): Credential {
    const key = keyOf(held, owner);
    const credential = credentials.get(key) ?? { key, holders: new Set(), gone: new AbortController() };
    credentials.set(key, credential);
    held.credential = credential;
    credential.holders.add(held);
    return credential;
  }

  function apply(verdict: Verdict, held: Held): void {
    if (verdict === 'unknown' || !open.has(held.socket)) return;
    const before = held.owner?.tenantId ?? null;
    const owner = verdict === 'refused' ? undefined : verdict.owner;
    held.owner = owner?.caller;
    // Whoever goes to another tenant leaves what they had open in this one.
    if (!owner || (!owner.over && before !== null && before !== owner.caller.tenantId)) refuse(held);
    else if (owner.over) held.leaving ??= setTimeout(() => refuse(held), lingerMs).unref();
  }

  /** Asks about a credential, and once more for all that has changed meanwhile. */
  async function look(credential: Credential): Promise<void> {
    const { holders, gone } = credential;
    const question = { again: true };
    credential.question = question;
    try {
      while (question.again) {
        question.again = false;
        const asked = [...holders]; // whoever joins later has an answer that is newer
        const [first] = asked;
        if (!first) return;
        const verdict = await judge(first.socket, { purpose: 'openSocket', signal: gone.signal });
        for (const held of asked) apply(verdict, held);
      }
    } catch (error) {
      log.error({ err: error }, 'sockets could not be checked');
    } finally {
      credential.question = undefined;
    }
  }

  function sweep(): void {
    const now = performance.now();
    for (const held of open.values()) {
      const mostMs = showsAny(held.socket) ? maxAgeMs : Math.min(bareAgeMs, maxAgeMs);
      if (now - held.openedAtMs >= mostMs) refuse(held);
    }
    const due = [...credentials.values()].filter(({ question }) => !question);
    standing.renew(
      due.flatMap(({ holders: [first] }) => first?.owner ?? []),
      'open sockets',
    );
    for (const credential of due) void look(credential);
  }

  const timer = setInterval(() => {
    try {
      if (open.size > 0) sweep();
    } catch (error) {
      log.error({ err: error }, 'sockets could not be checked');
    }
  }, sweepMs).unref();

  return {
    async admit(socket) {
      const held: Held = { socket, openedAtMs: performance.now(), changed: false, gone: new AbortController() };
      open.set(socket, held); // before it is looked at, so that a change in between is not missed
      const options = { purpose: 'newSocket', signal: held.gone.signal } as const;
      let verdict = await judge(socket, options);
      if (held.changed && isGood(verdict)) {
        // From here on it is known whose it is, and only what concerns it counts.
        held.owner = verdict.owner?.caller;
        held.changed = false;
        verdict = await judge(socket, options);
      }
      if (!open.has(socket)) return 'unknown';
      // A socket whose session has ended leaves; one that comes when it is over already does not get in.
      if (!isGood(verdict) || verdict.owner?.over) {
        leave(held);
        return verdict === 'unknown' ? 'unknown' : 'refused';
      }
      held.owner = verdict.owner?.caller;
      if (!held.owner) return 'admitted';
      const credential = join(held, held.owner);
      if (held.changed) lookAgain(credential);
      return 'admitted';
    },
    drop(socket) {
      const held = open.get(socket);
      if (held) leave(held);
    },
    recheck(changed) {
      const concerned = new Set<Credential>();
      for (const held of open.values()) {
        if (!mayConcern(changed, held)) continue;
        if (held.credential) concerned.add(held.credential);
        else held.changed = true;
      }
      for (const credential of concerned) lookAgain(credential);
    },
    stop: () => clearInterval(timer),
  };

  function lookAgain(credential: Credential): void {
    if (credential.question) credential.question.again = true;
    else void look(credential);
  }
}

function isGood(verdict: Verdict): verdict is Exclude<Verdict, string> {
  return typeof verdict !== 'string';
}

/** The same for sockets of which one answer tells about all: a session token ends by itself, a sign-in outlives its tokens. */
function keyOf({ socket: { presented } }: Held, owner: Caller): string {
  const first = `${owner.kind} ${owner.kind === 'session' ? presented.bearer : (owner.signInId ?? owner.apiKeyId)}`;
  return presented.bearer && presented.apiKey ? `${first} ${presented.apiKey}` : first;
}

function showsAny({ presented }: OpenSocket): boolean {
  return Boolean(presented.bearer ?? presented.apiKey);
}

function mayConcern(changed: CredentialsChanged | undefined, { socket, owner }: Held): boolean {
  if (!showsAny(socket)) return false;
  if (!owner || !changed?.whose) return true;
  const { $case, value } = changed.whose;
  if ($case === 'signInId') return owner.signInId === value;
  if ($case === 'userId') return owner.userId === value;
  return $case === 'sessionId' ? owner.sessionId === value : owner.tenantId === value;
}
