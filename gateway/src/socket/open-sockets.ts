import type { Caller } from '@parley/chassis/caller';
import { isDomainError } from '@parley/chassis/errors';
import type { Logger } from '@parley/chassis/log';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import type { Origin, OwnerOf, OwnerOfOptions, SocketOwner } from '../credentials/authenticate.ts';
import type { CredentialStatus } from '../credentials/credential-status.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { rateLimitedWarning } from './rate-limited-warning.ts';

/** A socket from its `connection_init` on. */
export interface OpenSocket {
  /** What it showed when it was opened. An access token is verified then, and counts as long as its sign-in does. */
  credentials: Credentials;
  origin: Origin;
  /** Closes it because its credential no longer holds. */
  refuse(): void;
}

/** `unavailable`: nobody can tell now whether its credential is any good, so that the client may come again. */
export type Admission = 'admitted' | 'refused' | 'unavailable';

export interface OpenSockets {
  /** Takes a socket in if its credential is good. */
  admit(socket: OpenSocket): Promise<Admission>;
  drop(socket: OpenSocket): void;
  /** Looks again at the sharedCredentials of the sockets that a change concerns; undefined: of all. */
  recheck(changed: CredentialsChanged | undefined): void;
  /** Looks at nothing any more. */
  stop(): void;
}

export interface OpenSocketsOptions {
  ownerOf: OwnerOf;
  credentialStatus: Pick<CredentialStatus, 'refresh'>;
  /** How long a socket lives at most, whatever it showed. */
  maxAgeMs: number;
  /** How long one that showed no credential does: every subscription needs one. */
  anonymousMaxAgeMs: number;
  log: Logger;
}

/** What is kept of a socket. */
interface SocketEntry {
  socket: OpenSocket;
  openedAtMs: number;
  /** Who it belonged to when that was last asked; undefined where nothing was shown, or it is not known yet. */
  owner?: Caller | undefined;
  /** What it has in common with all that showed the same, once it is admitted. */
  credential?: SharedCredential;
  /** While it is being admitted: something has changed that may concern it. */
  isStale: boolean;
  /** Aborts when it is removed. */
  removed: AbortController;
  closing?: NodeJS.Timeout;
}

/** One check is asked for all sockets that showed the same, and the next only after that. */
interface SharedCredential {
  key: string;
  holders: Set<SocketEntry>;
  /** Set while it is asked about; `again`: something has changed meanwhile. */
  check?: { repeat: boolean } | undefined;
  /** Aborts when the last holder has removed. */
  removed: AbortController;
}

type CheckResult = { owner: SocketOwner | undefined } | 'refused' | 'unavailable';

/** How often every open socket is looked at, should an announcement be lost. */
const sweepMs = 500;

/** How long a socket outlives its session, so that the events of the end arrive before the close. */
const closeDelayMs = 300;

/** Keeps sockets only as long as what stands behind their sharedCredentials. */
export function openSockets({
  ownerOf,
  credentialStatus,
  maxAgeMs,
  anonymousMaxAgeMs,
  log,
}: OpenSocketsOptions): OpenSockets {
  const open = new Map<OpenSocket, SocketEntry>();
  const sharedCredentials = new Map<string, SharedCredential>();
  const warnUnavailable = rateLimitedWarning(log, 'socket credential check failed; will retry');

  async function checkOnce(
    { credentials, origin }: OpenSocket,
    options: Required<OwnerOfOptions>,
  ): Promise<CheckResult> {
    try {
      return { owner: await ownerOf(credentials, origin, options) };
    } catch (error) {
      if (isDomainError(error, 'unauthenticated') || isDomainError(error, 'forbidden')) return 'refused';
      // Only a clear refusal ends a socket: while identity is away nobody is thrown out, and the next sweep asks again.
      if (!options.signal.aborted) warnUnavailable(error);
      return 'unavailable';
    }
  }

  function remove(entry: SocketEntry): void {
    const { socket, credential } = entry;
    if (!open.delete(socket)) return;
    clearTimeout(entry.closing);
    entry.removed.abort();
    credential?.holders.delete(entry);
    if (credential?.holders.size !== 0) return;
    sharedCredentials.delete(credential.key);
    credential.removed.abort();
  }

  function refuse(entry: SocketEntry): void {
    remove(entry);
    entry.socket.refuse();
  }

  /** Shares the questions of all that showed the same. */
  function shareCredential(entry: SocketEntry, owner: Caller): SharedCredential {
    const key = keyOf(entry, owner);
    const credential = sharedCredentials.get(key) ?? { key, holders: new Set(), removed: new AbortController() };
    sharedCredentials.set(key, credential);
    entry.credential = credential;
    credential.holders.add(entry);
    return credential;
  }

  function apply(result: CheckResult, entry: SocketEntry): void {
    if (result === 'unavailable' || !open.has(entry.socket)) return;
    const before = entry.owner?.tenantId ?? null;
    const owner = result === 'refused' ? undefined : result.owner;
    entry.owner = owner?.caller;
    // Whoever goes to another tenant leaves what they had open in this one.
    if (!owner || (!owner.ended && before !== null && before !== owner.caller.tenantId)) refuse(entry);
    else if (owner.ended) entry.closing ??= setTimeout(() => refuse(entry), closeDelayMs).unref();
  }

  /** Asks about a credential, and once more for all that has changed meanwhile. */
  async function checkCredential(credential: SharedCredential): Promise<void> {
    const { holders, removed } = credential;
    const check = { repeat: true };
    credential.check = check;
    try {
      while (check.repeat) {
        check.repeat = false;
        const asked = [...holders]; // whoever joins later has an answer that is newer
        const [first] = asked;
        if (!first) return;
        const result = await checkOnce(first.socket, { purpose: 'openSocket', signal: removed.signal });
        for (const entry of asked) apply(result, entry);
      }
    } catch (error) {
      log.error({ err: error }, 'socket check failed');
    } finally {
      credential.check = undefined;
    }
  }

  function sweep(): void {
    const now = performance.now();
    for (const entry of open.values()) {
      const mostMs = hasCredential(entry.socket) ? maxAgeMs : Math.min(anonymousMaxAgeMs, maxAgeMs);
      if (now - entry.openedAtMs >= mostMs) refuse(entry);
    }
    const due = [...sharedCredentials.values()].filter(({ check }) => !check);
    credentialStatus.refresh(
      due.flatMap(({ holders: [first] }) => first?.owner ?? []),
      'open sockets',
    );
    for (const credential of due) void checkCredential(credential);
  }

  const timer = setInterval(() => {
    try {
      if (open.size > 0) sweep();
    } catch (error) {
      log.error({ err: error }, 'socket check failed');
    }
  }, sweepMs).unref();

  return {
    async admit(socket) {
      const entry: SocketEntry = {
        socket,
        openedAtMs: performance.now(),
        isStale: false,
        removed: new AbortController(),
      };
      open.set(socket, entry); // before it is looked at, so that a change in between is not missed
      const options = { purpose: 'newSocket', signal: entry.removed.signal } as const;
      let result = await checkOnce(socket, options);
      if (entry.isStale && isValid(result)) {
        // From here on it is known whose it is, and only what concerns it counts.
        entry.owner = result.owner?.caller;
        entry.isStale = false;
        result = await checkOnce(socket, options);
      }
      if (!open.has(socket)) return 'unavailable';
      // A socket whose session has ended leaves; one that comes when it is over already does not get in.
      if (!isValid(result) || result.owner?.ended) {
        remove(entry);
        return result === 'unavailable' ? 'unavailable' : 'refused';
      }
      entry.owner = result.owner?.caller;
      if (!entry.owner) return 'admitted';
      const credential = shareCredential(entry, entry.owner);
      if (entry.isStale) scheduleCheck(credential);
      return 'admitted';
    },
    drop(socket) {
      const entry = open.get(socket);
      if (entry) remove(entry);
    },
    recheck(changed) {
      const affected = new Set<SharedCredential>();
      for (const entry of open.values()) {
        if (!isAffected(changed, entry)) continue;
        if (entry.credential) affected.add(entry.credential);
        else entry.isStale = true;
      }
      for (const credential of affected) scheduleCheck(credential);
    },
    stop: () => clearInterval(timer),
  };

  function scheduleCheck(credential: SharedCredential): void {
    if (credential.check) credential.check.repeat = true;
    else void checkCredential(credential);
  }
}

function isValid(result: CheckResult): result is Exclude<CheckResult, string> {
  return typeof result !== 'string';
}

/** The same for sockets of which one answer tells about all: a session token ends by itself, a sign-in outlives its tokens. */
function keyOf({ socket: { credentials } }: SocketEntry, owner: Caller): string {
  const first = `${owner.kind} ${owner.kind === 'session' ? credentials.bearer : (owner.signInId ?? owner.apiKeyId)}`;
  return credentials.bearer && credentials.apiKey ? `${first} ${credentials.apiKey}` : first;
}

function hasCredential({ credentials }: OpenSocket): boolean {
  return Boolean(credentials.bearer ?? credentials.apiKey);
}

function isAffected(changed: CredentialsChanged | undefined, { socket, owner }: SocketEntry): boolean {
  if (!hasCredential(socket)) return false;
  if (!owner || !changed?.whose) return true;
  const { $case, value } = changed.whose;
  if ($case === 'signInId') return owner.signInId === value;
  if ($case === 'userId') return owner.userId === value;
  return $case === 'sessionId' ? owner.sessionId === value : owner.tenantId === value;
}
