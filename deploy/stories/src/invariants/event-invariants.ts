import type { Invariant, Rows, TopicFacts } from './facts.ts';

/**
 * Jobs that wait for a time: until a session is idle, a delivery may be retried, uploads to a URL are no longer possible, or an export
 * expires.
 */
const waitForTime = new Set([
  'session.expiry',
  'session.external-sync',
  'knowledge.check-upload',
  'knowledge.settle-upload',
  'export.remove',
]);

/**
 * Asserts that nothing remains to be done:
 * - Every outbox is empty.
 * - Every model call is settled.
 * - No request holds its idempotency key.
 * - No jobs remain, except jobs of suspended tenants and jobs that wait for a time.
 */
export function nothingIsLeftToDo({
  outbox,
  jobs,
  tenants,
  reservations,
  heldKeys,
}: Pick<Rows, 'outbox' | 'jobs' | 'tenants' | 'reservations' | 'heldKeys'>): string[] {
  const waits = new Set<number | null>(tenants.filter(({ suspended }) => suspended).map(({ id }) => id));
  return [
    ...outbox.map(({ service, topic, key }) => `${service} has not published ${topic} of ${key}`),
    ...reservations.map(({ tenantId, callId }) => `call ${callId} of tenant ${tenantId} is not settled`),
    ...heldKeys.map(({ id }) => `a request still holds its Idempotency-Key ${id}`),
    ...jobs
      .filter(({ kind, tenantId }) => !waitForTime.has(kind) && !waits.has(tenantId))
      .map(({ service, kind, key, state }) => `${service} has a ${state} job ${kind} of ${key}`),
  ];
}

/** Asserts that no consumer group has a lag. */
export function nothingIsUnread({ topics }: { topics?: Pick<TopicFacts, 'groups'> | undefined }): string[] {
  const behind = topics?.groups.filter(({ lag }) => lag !== 0) ?? [];
  return behind.map(({ group, topic, lag }) => `${group} has still ${lag} events of ${topic} to take`);
}

/** The event types that consumers handle. Consumers ignore all other types. */
const handled = new Set(['session.ended.v1', 'evaluation.completed.v1', 'tenant.deleted.v1', 'document.uploaded.v1']);

/**
 * In each consumer group that reads its topic, every published event has taken effect or is a dead letter. The inbox ensures that it takes
 * effect only once.
 */
export const everyEventTookEffect: Invariant = ({ topics, inbox }) => {
  if (!topics) return [];
  const { events, groups, letters } = topics;
  const taken = inbox.map(({ consumer, eventId }) => `${consumer} ${eventId}`);
  const done = new Set([...taken, ...letters.map(({ group, eventId }) => `${group} ${eventId}`)]);
  return groups.flatMap(({ group, topic }) => {
    const missing = events.filter(
      ({ topic: of, type, id }) => of === topic && handled.has(type) && !done.has(`${group} ${id}`),
    );
    return missing.map(({ id }) => `${group} has not taken event ${id} of ${topic}`);
  });
};

/** Each ended session has exactly one end event, which may be published several times. An active session has none. */
export const everyEndHasOneEvent: Invariant = ({ topics, sessions }) => {
  if (!topics) return [];
  const poison = new Set(topics.poison); // events that are meant to fail do not count, whatever their type
  const ends = topics.events.filter(({ id, type }) => type === 'session.ended.v1' && !poison.has(id));
  const endsOf = Map.groupBy(ends, ({ key }) => key);
  return sessions.flatMap(({ id, status, judged }) => {
    const count = new Set(endsOf.get(String(id))?.map((event) => event.id)).size;
    const isOver = status === 'ENDED' || status === 'EXPIRED';
    if (count > 1 || (count > 0 && !isOver))
      return [`session ${id} is ${status}, and ${count} events say that it ended`];
    return count === 0 && isOver && judged ? [`session ${id} is ${status}, and no event says so`] : [];
  });
};

/** The dead-letter topics contain exactly the events that are meant to fail. */
export const deadLettersArePoison: Invariant = ({ topics }) => {
  if (!topics) return [];
  const { letters, poison } = topics;
  const expected = new Set(poison);
  const found = new Set(letters.map(({ eventId }) => eventId));
  return [
    ...letters
      .filter(({ eventId }) => !expected.has(eventId))
      .map(({ topic, group, eventId, reason }) => `${group} gave up event ${eventId} of ${topic}: ${reason}`),
    ...poison.filter((id) => !found.has(id)).map((id) => `event ${id} is poison and no dead letter`),
  ];
};
