import { randomUUID } from 'node:crypto';
import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import { backoff } from '@parley/kernel/timing/backoff';
import { noTenant } from '@parley/postgres/database/identifiers';
import type { SharedDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { TenantJob } from '@parley/postgres/jobs/job-rows';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from '../ports.ts';
import { MessageRefused } from './carrier.ts';
import type { Message } from './message.ts';

/** Null for unknown contacts: nothing is sent, but the request takes the same time as for known ones. */
type SealedMessage = Message | null;

export interface SendMessage {
  id: string;
  sealed: string;
  expiresAt: string;
}

const sendAfterMs = 200;

/** Queues are independent: codes are urgent, and the mail server or the SMS gateway may be unavailable. */
const queues = ['code-mail', 'code-sms', 'notice'] as const;

export interface QueueOptions {
  queue: (typeof queues)[number];
  /** Messages with the same key are sent one after another. Default: a key per message. */
  key?: string;
  validForS: number;
}

/**
 * Stores a message encrypted. After the commit a job sends the message, with retries until the server accepts it or the message expires.
 * @param message null: does the same work and sends nothing
 */
export async function queueMessage(
  { box, clock }: Pick<Ports, 'box' | 'clock'>,
  db: SharedDb,
  message: SealedMessage,
  { queue, key, validForS }: QueueOptions,
): Promise<void> {
  const id = randomUUID();
  const data: SendMessage = {
    id,
    sealed: box.seal(JSON.stringify(message), sealingContextOf(id)).toString('base64'),
    expiresAt: new Date(clock().getTime() + validForS * 1000).toISOString(),
  };
  // The message is delayed: sending at once would slow down the response and so reveal that a message is sent.
  await jobs(db).append({ kind: kindOf(queue), key: key ?? id, tenantId: noTenant, data, delayMs: sendAfterMs });
}

export const messageJobs = queues.map(
  (queue) =>
    (ports: Ports): JobDeclaration =>
      job<SendMessage>({
        kind: kindOf(queue),
        concurrency: 8,
        perTenantLimit: {
          unlimitedBecause: 'codes have limits of their own, and notices of one user are sent one by one',
        },
        // Outages of the mail server are retried until the message expires.
        retry: 'untilDone',
        retryable: (error) => !(error instanceof MessageRefused),
        backoffMs: backoff({ firstMs: 1_000, maxMs: 30_000, jitter: true }),
        stopGraceMs: 3_000,
        handler: (run) => sendMessage(ports, run),
        onExhausted: async (_, { data }: TenantJob<SendMessage>, error) => {
          ports.log.error({ messageId: data.id, err: error }, 'message refused; dropped');
        },
      }),
);

function kindOf(queue: QueueOptions['queue']): string {
  return `identity.send-${queue}`;
}

async function sendMessage({ box, carriers, clock, log }: Ports, { data }: JobRun<SendMessage>): Promise<void> {
  const { id, expiresAt } = data;
  const message = openMessage(box, data);
  if (message === null) return;
  if (clock() > new Date(expiresAt)) {
    log.warn({ messageId: id, expiresAt }, 'message expired before it was sent; dropped');
    return;
  }
  await carriers.send({ ...message, id });
}

export function openMessage(box: SecretBox, { id, sealed }: SendMessage): SealedMessage {
  return JSON.parse(box.open(Buffer.from(sealed, 'base64'), sealingContextOf(id)).toString());
}

function sealingContextOf(id: string): string {
  return `identity.messages:${id}`;
}
