import { DomainError, unavailable } from './errors.ts';

/** What one party may have at once. */
export interface Share {
  /** Calls under way; default: any number. */
  underWay?: number;
  /** Calls under way while no other party whose share has an `alone` has sent a call for 10 s. Default: `underWay`. */
  alone?: number;
  /** Calls that wait; one more is refused. Default: any number. */
  waiting?: number;
  /** Whose calls they are, in the words of that refusal. Default: `of this <kind>`. */
  whose?: string;
}

/** What all calls together may have, and by kind of party (address, tenant, …) what each party may. */
export interface FairQueueLimits<Kind extends string> extends Share {
  shares: Record<Kind, Share>;
  /** A clock in ms, for tests. Default: `performance.now`. */
  now?(): number;
}

/** Whom a call counts for, by kind; null or undefined where it is nobody of that kind. */
export type Parties<Kind extends string> = { [Each in Kind]?: string | number | null | undefined };

/** Lets calls begin in turn, so that nobody waits until all calls of somebody else are over. */
export interface FairQueue<Kind extends string> {
  /**
   * The call may begin: at once where there is room, else when its turn has come. What is answered must be called when it is over.
   * @param signal asked for what ends the wait, which then rejects with its reason; only where there is one.
   * @param begun the call is a part of something that has begun: it waits however many of its parties' do.
   * @throws DomainError `tooManyRequests` when as many of one of its parties wait as may, or when a full queue needs the room of
   * those who have most of it; `unavailable` when the queue is full and nobody in it has more than this call's parties.
   */
  enter(parties: Parties<Kind>, signal?: () => AbortSignal | undefined, begun?: boolean): EndCall | Promise<EndCall>;
  /** Calls that wait for their turn. */
  readonly waiting: number;
  /** Parties that have a call. */
  readonly known: number;
}

export type EndCall = () => void;

/** One that has calls, or all together. */
interface Party {
  kind: string;
  id: string | number;
  share: Share & typeof unbounded;
  /** Where it is kept while it has calls; all together are not. */
  known: Map<string | number, Party> | undefined;
  underWay: number;
  waiting: number;
  /** Its flows that have to wait until one of its own calls is over; of all together: those whose turn comes. */
  parked: Set<Flow>;
}

/** The calls of the same parties that wait. */
interface Flow {
  key: string;
  parties: Party[];
  /** By number, oldest first. */
  calls: Map<number, Waiting>;
  /** No call has a higher number. */
  newest: number;
  /** Those among whom it waits for its turn. */
  among?: Set<Flow>;
}

interface Waiting {
  begin(): void;
  refuse(error: unknown): void;
}

/**
 * Flows take turns, one call each. One of whose parties has its whole share is parked, and looked at again when a call of that
 * party is over: so a step takes as long with one that waits as with thousands.
 */
export function fairQueue<Kind extends string>({
  shares,
  now = () => performance.now(),
  ...limits
}: FairQueueLimits<Kind>): FairQueue<Kind> {
  const kinds = Object.entries<Share>(shares).map(([kind, share]) => ({
    kind: kind as Kind,
    share: { ...unbounded, ...share },
    known: new Map<string | number, Party>(),
  }));
  const all = newParty({ kind: 'all', share: { ...unbounded, ...limits }, known: undefined }, '');
  const ready = all.parked;
  const flows = new Map<string, Flow>();
  /** Flows by how many calls wait in each. */
  const byLength: Set<Flow>[] = [];
  /** Of those whose share has an `alone`: who sent the last call, when, and when the last one of anybody else came. */
  const latest = { sender: '', at: Number.NEGATIVE_INFINITY, othersAt: Number.NEGATIVE_INFINITY };

  /** Of each kind the one that is meant, and last all together. */
  function partiesOf(ids: Parties<Kind>): Party[] {
    const parties: Party[] = [];
    for (const kind of kinds) {
      const id = ids[kind.kind];
      if (id !== null && id !== undefined) parties.push(kind.known.get(id) ?? newParty(kind, id));
    }
    parties.push(all);
    return parties;
  }

  function noteSender(parties: Party[]): void {
    const sender = parties.find(({ share }) => share.alone !== undefined);
    if (!sender) return;
    const name = nameOf(sender);
    if (name !== latest.sender) latest.othersAt = latest.at;
    latest.sender = name;
    latest.at = now();
  }

  function hasRoom(party: Party): boolean {
    const { underWay, share } = party;
    if (underWay < share.underWay) return true;
    if (share.alone === undefined || underWay >= share.alone) return false;
    const othersAt = nameOf(party) === latest.sender ? latest.othersAt : latest.at;
    return now() - othersAt >= aloneAfterMs;
  }

  function begin(parties: Party[]): EndCall {
    count(parties, 'underWay', 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      count(parties, 'underWay', -1);
      if (all.waiting > 0) goOn(parties);
    };
  }

  function wait(parties: Party[], signal: AbortSignal | undefined): Promise<EndCall> {
    signal?.throwIfAborted();
    const key = JSON.stringify(parties.map(({ kind, id }) => [kind, id]));
    const flow = flows.get(key) ?? { key, parties, calls: new Map(), newest: 0 };
    if (!mayWait(all)) makeRoom(flow.calls.size);
    const { promise, resolve, reject } = Promise.withResolvers<EndCall>();
    flow.newest += 1;
    const number = flow.newest;
    const leave = () => {
      signal?.removeEventListener('abort', giveUp);
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
        goOn(parties); // it may have been its turn
        reject(error);
      },
    };
    const giveUp = () => call.refuse(signal?.reason);
    signal?.addEventListener('abort', giveUp);
    count(parties, 'waiting', 1);
    flow.calls.set(number, call);
    resized(flow, 1);
    return promise;
  }

  /** Keeps a flow by its length after a call has come or gone: from its first call to its last it is in the queue. */
  function resized(flow: Flow, by: 1 | -1): void {
    const { size } = flow.calls;
    byLength[size - by]?.delete(flow);
    if (size > 0) (byLength[size] ??= new Set()).add(flow);
    while (byLength.at(-1)?.size === 0) byLength.pop();
    if (size === 0) {
      flow.among?.delete(flow);
      flows.delete(flow.key);
    } else if (size === 1 && by === 1) {
      flows.set(flow.key, flow);
      queue(flow);
    }
  }

  /** Makes the flow in which most calls wait give its last place to one in which so many wait. @throws where none has more. */
  function makeRoom(calls: number): void {
    const longest = firstOf(byLength.at(-1));
    if (!longest || longest.calls.size <= calls + 1)
      throw unavailable('Too many requests at once; try again in a moment');
    while (!longest.calls.has(longest.newest)) longest.newest -= 1;
    longest.calls.get(longest.newest)?.refuse(tooMany());
  }

  /** Begins what may begin, after a call of these has ended or given up. */
  function goOn(parties: Party[]): void {
    wakeOneOfEach(parties);
    for (let flow = firstOf(ready); flow && hasRoom(all); flow = firstOf(ready)) {
      queue(flow);
      if (flow.among === ready) firstOf(flow.calls)?.[1].begin();
      // Only one was woken for each call that ended. It has begun, or another share is in its way: there may be room for the next.
      wakeOneOfEach(flow.parties);
    }
  }

  function wakeOneOfEach(parties: Party[]): void {
    for (const party of parties) {
      const flow = party !== all && hasRoom(party) ? firstOf(party.parked) : undefined;
      if (flow) move(flow, ready);
    }
  }

  /** Puts a flow last among those whose turn comes, or parks it. */
  function queue(flow: Flow): void {
    move(flow, (flow.parties.find((party) => !hasRoom(party)) ?? all).parked);
  }

  return {
    enter(ids, signal, begun = false) {
      const parties = partiesOf(ids);
      noteSender(parties);
      if (parties.every(hasRoom)) return begin(parties);
      const full = begun ? [] : parties.filter((party) => party !== all && !mayWait(party));
      if (full.length > 0) throw tooMany(full.find((party) => !hasRoom(party)) ?? full[0]);
      return wait(parties, signal?.());
    },
    get waiting() {
      return all.waiting;
    },
    get known() {
      return kinds.reduce((sum, { known }) => sum + known.size, 0);
    },
  };
}

/** Long enough that a client who looks now and then still counts as there. */
const aloneAfterMs = 10_000;

const unbounded = { underWay: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };

function newParty({ kind, share, known }: Pick<Party, 'kind' | 'share' | 'known'>, id: string | number): Party {
  return { kind, id, share, known, underWay: 0, waiting: 0, parked: new Set() };
}

/** Counts calls for these, and keeps those in mind that have any. */
function count(parties: Party[], what: 'underWay' | 'waiting', by: 1 | -1): void {
  for (const party of parties) {
    party[what] += by;
    if (party.underWay + party.waiting === 0) party.known?.delete(party.id);
    else if (by === 1) party.known?.set(party.id, party);
  }
}

function mayWait({ waiting, share }: Party): boolean {
  return waiting < share.waiting;
}

function nameOf({ kind, id }: Party): string {
  return `${kind} ${id}`;
}

function move(flow: Flow, to: Set<Flow>): void {
  flow.among?.delete(flow);
  flow.among = to.add(flow);
}

function firstOf<T>(items: Iterable<T> = []): T | undefined {
  const [first] = items;
  return first;
}

function tooMany(party?: Party): DomainError {
  const whose = party?.share.whose ?? `of this ${party?.kind ?? 'client'}`;
  return new DomainError('tooManyRequests', `Too many requests ${whose} at once; try again in a moment`);
}
