import { DomainError } from './errors.ts';

/** Whom a call counts for. */
export interface Asker {
  /** An IPv4 address, or an IPv6 /64. */
  client: string;
  /** Null for whoever is in none. */
  tenantId: number | null;
}

/** What one client, or one tenant, may have at once. */
export interface Share {
  /** Calls under way. */
  underWay: number;
  /** Calls that wait; one more is refused. */
  waiting: number;
}

export interface FairQueueLimits {
  /** Calls under way of all together. */
  underWay: number;
  client: Share;
  tenant: Share;
}

/** Lets calls begin in turn, so that nobody waits until all calls of somebody else are over. */
export interface FairQueue {
  /**
   * The call may begin: at once where there is room, else when its turn has come. What is answered must be called when it is over.
   * @param signal asked for what ends the wait, which then rejects with its reason; only where there is one.
   * @throws DomainError `tooManyRequests` when as many of this client, or of this tenant, wait as may.
   */
  enter(asker: Asker, signal: () => AbortSignal): EndCall | Promise<EndCall>;
  /** Calls that wait for their turn. */
  readonly waiting: number;
  /** Clients and tenants that have a call. */
  readonly known: number;
}

export type EndCall = () => void;

/** A client or a tenant that has calls. */
interface Party {
  share: Share;
  underWay: number;
  waiting: number;
  /** Its flows that have to wait until one of its own calls is over. */
  parked: Set<Flow>;
  /** Of a client: its flows by tenant. */
  flows: Map<Party | undefined, Flow>;
  forget(): void;
}

/** The calls of one client for one tenant that wait, oldest first. */
interface Flow {
  parties: Party[];
  starts: Set<() => void>;
  /** Those among whom it waits for its turn. */
  among: Set<Flow>;
}

/**
 * Flows take turns, one call each. One whose client or tenant has its whole share is parked, and looked at again when a call of
 * that one is over: so a step takes as long with one that waits as with thousands.
 */
export function fairQueue(limits: FairQueueLimits): FairQueue {
  const clients = new Map<string, Party>();
  const tenants = new Map<number, Party>();
  const ready = new Set<Flow>();
  let underWay = 0;

  function begin(parties: Party[]): EndCall {
    underWay += 1;
    for (const party of parties) party.underWay += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      underWay -= 1;
      for (const party of parties) party.underWay -= 1;
      goOn(parties);
    };
  }

  function wait(parties: Party[], signal: AbortSignal): Promise<EndCall> {
    const flow = flowOf(parties);
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', giveUp);
        for (const party of parties) party.waiting -= 1;
        flow.starts.delete(start);
        if (flow.starts.size === 0) drop(flow);
      };
      const start = () => {
        leave();
        resolve(begin(parties));
      };
      const giveUp = () => {
        leave();
        goOn(parties); // it may have been its turn
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp);
      for (const party of parties) party.waiting += 1;
      flow.starts.add(start);
    });
  }

  /** Begins what may begin, after a call of these has ended or given up. */
  function goOn(parties: Party[]): void {
    for (const party of parties) wakeOne(party);
    for (let flow = firstOf(ready); flow && underWay < limits.underWay; flow = firstOf(ready)) {
      queue(flow);
      if (flow.among === ready) firstOf(flow.starts)?.();
      // Only one was woken for each call that ended. It has begun, or another share is in its way: there may be room for the next.
      for (const party of flow.parties) wakeOne(party);
    }
    forgetIdle(parties);
  }

  function wakeOne(party: Party): void {
    const flow = hasRoom(party) ? firstOf(party.parked) : undefined;
    if (flow) move(flow, ready);
  }

  /** Puts a flow last among those whose turn comes, or parks it. */
  function queue(flow: Flow): void {
    move(flow, flow.parties.find((party) => !hasRoom(party))?.parked ?? ready);
  }

  function flowOf(parties: Party[]): Flow {
    const [client, tenant] = parties;
    const known = client?.flows.get(tenant);
    if (known) return known;
    const flow: Flow = { parties, starts: new Set(), among: ready };
    client?.flows.set(tenant, flow);
    queue(flow);
    return flow;
  }

  return {
    enter({ client, tenantId }, signal) {
      const parties = [partyOf(clients, client, limits.client)];
      if (tenantId !== null) parties.push(partyOf(tenants, tenantId, limits.tenant));
      if (underWay < limits.underWay && parties.every(hasRoom)) return begin(parties);
      const full = parties.findIndex(({ waiting, share }) => waiting >= share.waiting);
      if (full < 0) return wait(parties, signal());
      forgetIdle(parties);
      throw tooMany(full === 0 ? 'address' : 'tenant');
    },
    get waiting() {
      let sum = 0;
      for (const { waiting } of clients.values()) sum += waiting;
      return sum;
    },
    get known() {
      return clients.size + tenants.size;
    },
  };
}

function partyOf<Key>(parties: Map<Key, Party>, key: Key, share: Share): Party {
  const known = parties.get(key);
  if (known) return known;
  const party: Party = {
    share,
    underWay: 0,
    waiting: 0,
    parked: new Set(),
    flows: new Map(),
    forget: () => void parties.delete(key),
  };
  parties.set(key, party);
  return party;
}

function forgetIdle(parties: Party[]): void {
  for (const party of parties) if (party.underWay === 0 && party.waiting === 0) party.forget();
}

function hasRoom({ underWay, share }: Party): boolean {
  return underWay < share.underWay;
}

function move(flow: Flow, to: Set<Flow>): void {
  flow.among.delete(flow);
  flow.among = to.add(flow);
}

/** Nobody waits in it any more. */
function drop(flow: Flow): void {
  const [client, tenant] = flow.parties;
  flow.among.delete(flow);
  client?.flows.delete(tenant);
}

function firstOf<T>(items: Set<T>): T | undefined {
  return items.values().next().value;
}

function tooMany(whose: 'address' | 'tenant'): DomainError {
  return new DomainError('tooManyRequests', `Too many requests of this ${whose} wait already; try again in a moment`);
}
