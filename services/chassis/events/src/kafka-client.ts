import type { Logger } from '@parley/kernel/log';
import { type ISocketFactory, Kafka, logLevel } from 'kafkajs';
import { calmIdleConnections } from './kafka-idle-timer.ts';
import { kafkaLog } from './kafka-log.ts';

export interface KafkaConnection {
  /** Where to begin: `host:port` of one broker or more. The others are learnt from them. */
  brokers: string[];
  /** How this process is called in the broker's log and metrics. Default `parley`. */
  clientId?: string | undefined;
  log?: Logger | undefined;
  /** How sockets are opened. For tests that hold or cut a line. */
  socketFactory?: ISocketFactory | undefined;
}

/**
 * A client of its own for each producer, consumer and admin: kafkajs shares the committed offsets of a group between all
 * consumers of one client, which spoils them where one takes over from another.
 * @param retries how often a call is tried again before it fails; 40 take about 20 s.
 */
export function kafkaClient(connection: KafkaConnection, { retries }: { retries: number }): Kafka {
  const { brokers, clientId = 'parley', log, socketFactory } = connection;
  calmIdleConnections();
  return new Kafka({
    brokers,
    clientId,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    retry: { retries, initialRetryTime: 50, maxRetryTime: 500, factor: 0.2, multiplier: 1.5 },
    logLevel: log?.isLevelEnabled('debug') ? logLevel.INFO : logLevel.WARN,
    logCreator: () => kafkaLog(log),
    ...(socketFactory && { socketFactory }),
  });
}

/** Settles as `work` does, or rejects after so many ms with `what` in the message; the work may then still go on. */
export async function within<T>(timeoutMs: number, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} took longer than ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
