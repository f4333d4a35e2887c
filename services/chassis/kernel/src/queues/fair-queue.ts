import { DomainError, unavailable } from '../errors.ts';

export interface ShareLimits {
  /** Maximum number of calls in flight. Default: unlimited. */
  inFlight?: number;
  /** Maximum number of queued calls; further calls are refused. Default: unlimited. */
  waiting?: number;
  /**
   * Names the party's calls in the message of a refusal because of these limits. Default: `of this <kind>`. Give the queue as a whole a
   * label if it gets only a part of all calls. A full queue with a label refuses with `tooManyRequests`, a full queue without a label with
   * `unavailable`.
   */
  label?: string;
}

/** The limits of all calls together, and for each kind of party (address, tenant, …) the limits of one party. */
export interface FairQueueLimits<Kind extends string> extends ShareLimits {
  /** The limits by kind of party, from the narrowest kind to the widest. A queued call belongs to the group of its widest party. */
  shares: Record<Kind, ShareLimits>;
  /**
   * Maximum wait in ms. Every `judgedEveryMs` the total wait of each queued call is estimated from how many calls have begun since it was
   * queued. A call is refused if its estimate is above the maximum; most of these calls are refused at the first estimate. Default: no call
   * is refused.
   */
  longestWaitMs?: number;
  /** Interval in ms between two estimates. Default 1,000. */
  judgedEveryMs?: number;
  /** Calls `work` after `ms` milliseconds, and returns a function that cancels the call. Default: `setTimeout`. */
  later?: (ms: number, work: () => void) => () => void;
}

/** The parties of a call by kind; null or undefined if it has none of that kind. */
export type Parties<Kind extends string> = { [Each in Kind]?: string | number | null | undefined };

export type FairQueue<Kind extends string> = ReturnType<typeof fairQueue<Kind>>;

export type Release = () => void;

/** A party with calls, or all calls together. */
interface Party {
  kind: string;
  id: string | number;
  limits: ShareLimits & typeof unbounded;
  /** The active parties of the same kind; undefined for the party of all calls together. */
  active: Map<string | number, Party> | undefined;
  inFlight: number;
  waiting: number;
  /** Number of the party's calls that have begun so far. */
  begun: number;
  /** Number of the party's queued flows. */
  flows: number;
  /** Flows of the party that wait until one of the party's own calls ends. */
  parked: Set<Flow>;
  /** The flows of this group that may begin. */
  ready: Set<Flow>;
}

interface Flow {
  key: string;
  parties: Party[];
  /** The widest of the flow's parties, apart from the party of all calls. */
  group: Party;
  /** Queued calls by number, oldest first. */
  calls: Map<number, Waiting>;
  newest: number;
  /** The `parked` or `ready` set that contains the flow. */
  queuedIn?: Set<Flow>;
}

interface Waiting {
  begin(): void;
  refuse(error: unknown): void;
}

/**
 * Limits calls in flight. Queued calls begin round robin by party, so that no party waits for all calls of another.
 *
 * A flow is the queued calls that have the same parties; flows with the same widest party form a group. With shares by address and tenant,
 * a group is a tenant. Groups begin one call each, round robin, and so do the flows of a group. So a tenant with calls from 200 addresses
 * delays other tenants no more than a tenant with calls from one address. When a party of a flow is at its limit, the flow is parked with
 * that party, and checked again when one of the party's calls ends. So the cost of a step does not grow with the number of queued calls.
 */
export function fairQueue<Kind extends string>({
  shares,
  longestWaitMs = Number.POSITIVE_INFINITY,
  judgedEveryMs = 1_000,
  later = laterByClock,
  ...limits
}: FairQueueLimits<Kind>) {
  const kinds = Object.entries<ShareLimits>(shares).map(([kind, share]) => ({
    kind: kind as Kind,
    limits: { ...unbounded, ...share },
    active: new Map<string | number, Party>(),
  }));
  const all = newParty({ kind: 'all', limits: { ...unbounded, ...limits }, active: undefined }, '');
  const tooManyOfAll = () =>
    limits.label === undefined ? unavailable('Too many requests at once; try again in a moment') : tooMany(all);
  /** The groups with queued calls. The first one is next. */
  const groups = new Set<Party>();
  /** The groups with flows that may begin. The first one is next. */
  const readyGroups = new Set<Party>();
  const flows = new Map<string, Flow>();
  const byLength: Set<Flow>[] = [];

  /** Returns the parties of a call; the last one represents all calls. */
  function partiesOf(ids: Parties<Kind>): Party[] {
    const parties: Party[] = [];
    for (const kind of kinds) {
      const id = ids[kind.kind];
      if (id !== null && id !== undefined) parties.push(kind.active.get(id) ?? newParty(kind, id));
    }
    parties.push(all);
    return parties;
  }

  function begin(parties: Party[]): Release {
    count(parties, 'inFlight', 1);
    for (const party of parties) party.begun += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      count(parties, 'inFlight', -1);
      if (all.waiting > 0) beginNext(parties);
    };
  }

  function wait(parties: Party[], signal: AbortSignal | undefined, isJudged: boolean): Promise<Release> {
    signal?.throwIfAborted();
    const key = JSON.stringify(parties.map(({ kind, id }) => [kind, id]));
    const group = parties.at(-2) ?? all;
    const flow = flows.get(key) ?? { key, parties, group, calls: new Map(), newest: 0 };
    if (!mayWait(all)) makeRoom(flow.calls.size);
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    flow.newest += 1;
    const number = flow.newest;
    const cancelJudging = isJudged ? judgeLater(flow, (error) => call.refuse(error)) : undefined;
    const leave = () => {
      cancelJudging?.();
      signal?.removeEventListener('abort', onAbort);
      count(parties, 'waiting', -1);
      flow.calls.delete(number);
      resized(flow, -1);
    };
    const call: Waiting = {
      begin() {
        leave();
        resolve(begin(parties));
      },
      refuse(error) {
        leave();
        beginNext(parties); // the refused call may have been the next to begin
        reject(error);
      },
    };
    const onAbort = () => call.refuse(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    count(parties, 'waiting', 1);
    flow.calls.set(number, call);
    resized(flow, 1);
    return promise;
  }

  /** After each `judgedEveryMs`, estimates the wait of a call that is about to join a flow and is not counted in the flow yet. */
  function judgeLater(flow: Flow, refuse: (error: unknown) => void): (() => void) | undefined {
    if (longestWaitMs === Number.POSITIVE_INFINITY) return undefined;
    const place = flow.calls.size + 1;
    const aheadIn = ({ waiting, flows }: Party) => Math.min(waiting, place * Math.max(1, flows));
    const limited = flow.parties.filter(({ limits }) => limits.inFlight < Number.POSITIVE_INFINITY);
    const seen = limited.map((party) => {
      const inGroup = Math.max(1, aheadIn(flow.group));
      const ahead = party === all ? Math.min(all.waiting, inGroup * Math.max(1, groups.size)) : aheadIn(party);
      return { party, ahead, begun: party.begun };
    });
    let waitedMs = 0;
    let cancel = later(judgedEveryMs, judge);
    function judge() {
      waitedMs += judgedEveryMs;
      for (const { party, ahead, begun } of seen) {
        const since = party.begun - begun;
        // The estimate assumes that all calls in flight end now and that as many begin in their places: when in doubt, a call is kept.
        const { inFlight } = party.limits;
        const perMs = (since + inFlight) / waitedMs;
        const behind = Math.max(0, ahead - since - inFlight);
        if (waitedMs + behind / perMs > longestWaitMs) return refuse(party === all ? tooManyOfAll() : tooMany(party));
      }
      cancel = later(judgedEveryMs, judge);
      return undefined;
    }
    return () => cancel();
  }

  /** Updates the indexes after a call was added to a flow or removed. A flow is queued while it has calls. */
  function resized(flow: Flow, by: 1 | -1): void {
    const { size } = flow.calls;
    byLength[size - by]?.delete(flow);
    if (size > 0) (byLength[size] ??= new Set()).add(flow);
    while (byLength.at(-1)?.size === 0) byLength.pop();
    if (size === 0) {
      remove(flow);
      flows.delete(flow.key);
      for (const party of flow.parties) party.flows -= 1;
      if (flow.group.flows === 0) groups.delete(flow.group);
    } else if (size === 1 && by === 1) {
      flows.set(flow.key, flow);
      for (const party of flow.parties) party.flows += 1;
      groups.add(flow.group);
      queue(flow);
    }
  }

  /**
   * Drops the newest call of the longest flow, to make room for a flow with `calls` calls.
   * @throws DomainError if no flow has at least two calls more than `calls`.
   */
  function makeRoom(calls: number): void {
    const longest = firstOf(byLength.at(-1));
    if (!longest || longest.calls.size <= calls + 1) throw tooManyOfAll();
    while (!longest.calls.has(longest.newest)) longest.newest -= 1;
    longest.calls.get(longest.newest)?.refuse(tooMany());
  }

  /** Begins calls after a call of these parties has ended or left the queue. */
  function beginNext(parties: Party[]): void {
    wakeOneOfEach(parties);
    for (let group = firstOf(readyGroups); group && hasRoom(all); group = firstOf(readyGroups)) {
      const flow = firstOf(group.ready);
      if (!flow) throw new Error('A group without a flow that may begin is among the ready ones');
      queue(flow);
      if (flow.queuedIn === group.ready) {
        toEnd(readyGroups, group);
        firstOf(flow.calls)?.[1].begin();
      }
      // One flow was woken for each ended call. If another limit parks that flow again, the next flow may use the slot.
      wakeOneOfEach(flow.parties);
    }
  }

  function wakeOneOfEach(parties: Party[]): void {
    for (const party of parties) {
      const flow = party !== all && hasRoom(party) ? firstOf(party.parked) : undefined;
      if (flow) makeReady(flow);
    }
  }

  /** Adds a flow to the end of its group's ready flows, or parks it with the first party that is at its limit. */
  function queue(flow: Flow): void {
    const full = flow.parties.find((party) => party !== all && !hasRoom(party));
    if (!full) return makeReady(flow);
    remove(flow);
    flow.queuedIn = full.parked.add(flow);
  }

  function makeReady(flow: Flow): void {
    const { group } = flow;
    flow.queuedIn?.delete(flow);
    flow.queuedIn = group.ready.add(flow);
    readyGroups.add(group);
  }

  function remove(flow: Flow): void {
    flow.queuedIn?.delete(flow);
    if (flow.group.ready.size === 0) readyGroups.delete(flow.group);
  }

  return {
    /**
     * Waits until the call may begin; returns synchronously if it may begin at once. Run the returned function when the call has ended.
     * @param signal makes the signal that ends the wait; called only if the call has to wait. When the signal aborts, the wait rejects with
     * the signal's reason.
     * @param continues whether the call belongs to a request that has begun: the call then waits even if its parties' `waiting` is used up.
     * @throws DomainError `tooManyRequests` if
     * - a party of the call already has `waiting` queued calls, or
     * - the call would wait for longer than `longestWaitMs`, or
     * - the full queue drops the call in favour of a flow with fewer calls.
     * @throws DomainError `unavailable` if the queue is full and no other flow has more calls, or if all calls wait for too long. A queue
     * with a `label` throws `tooManyRequests` in these two cases.
     */
    enter(ids: Parties<Kind>, signal?: () => AbortSignal | undefined, continues = false): Release | Promise<Release> {
      const parties = partiesOf(ids);
      if (parties.every(hasRoom)) return begin(parties);
      const full = continues ? [] : parties.filter((party) => party !== all && !mayWait(party));
      if (full.length > 0) throw tooMany(full.find((party) => !hasRoom(party)) ?? full[0]);
      return wait(parties, signal?.(), !continues);
    },
    get waiting() {
      return all.waiting;
    },
    /** Number of parties that have a call in flight or waiting. */
    get parties() {
      return kinds.reduce((sum, { active }) => sum + active.size, 0);
    },
  };
}

const unbounded = { inFlight: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };

function laterByClock(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}

function newParty({ kind, limits, active }: Pick<Party, 'kind' | 'limits' | 'active'>, id: string | number): Party {
  return { kind, id, limits, active, inFlight: 0, waiting: 0, begun: 0, flows: 0, parked: new Set(), ready: new Set() };
}

function count(parties: Party[], what: 'inFlight' | 'waiting', by: 1 | -1): void {
  for (const party of parties) {
    party[what] += by;
    if (party.inFlight + party.waiting === 0) party.active?.delete(party.id);
    else if (by === 1) party.active?.set(party.id, party);
  }
}

function hasRoom({ inFlight, limits }: Party): boolean {
  return inFlight < limits.inFlight;
}

function mayWait({ waiting, limits }: Party): boolean {
  return waiting < limits.waiting;
}

function toEnd<T>(set: Set<T>, item: T): void {
  set.delete(item);
  set.add(item);
}

function firstOf<T>(items: Iterable<T> = []): T | undefined {
  const [first] = items;
  return first;
}

function tooMany(party?: Party): DomainError {
  const label = party?.limits.label ?? `of this ${party?.kind ?? 'client'}`;
  return new DomainError('tooManyRequests', `Too many requests ${label} at once; try again in a moment`);
}
