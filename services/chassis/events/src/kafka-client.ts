import type { Logger } from '@parley/kernel/telemetry/log';
import { type ISocketFactory, Kafka, logLevel, type SASLOptions } from 'kafkajs';
import { patchIdleTimer } from './kafka-idle-timer.ts';
import { kafkaLog } from './kafka-log.ts';

export interface KafkaConnection {
  /** `host:port` of at least one broker, from which the client discovers the others. */
  brokers: string[];
  /** Whether connections use TLS. The brokers' certificates are verified against the certificate authorities of the process. */
  tls?: boolean | undefined;
  /** User and password, for `plain` or one of the SCRAM mechanisms. */
  login?: SASLOptions | undefined;
  log?: Logger | undefined;
  /** How sockets are opened. Tests use this option to delay or break connections. */
  socketFactory?: ISocketFactory | undefined;
}

/**
 * Makes a client. Each producer, consumer and admin gets its own client: kafkajs shares the committed offsets of a group between all
 * consumers of one client, which corrupts the offsets when one consumer replaces another.
 * @param retries maximum number of retries of a call; 40 retries take about 20 s.
 */
export function kafkaClient(connection: KafkaConnection, { retries }: { retries: number }): Kafka {
  const { brokers, tls = false, login, log, socketFactory } = connection;
  patchIdleTimer();
  return new Kafka({
    brokers,
    ssl: tls,
    ...(login && { sasl: login }),
    clientId: 'parley', // the client's name in the brokers' logs and metrics
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    retry: { retries, initialRetryTime: 50, maxRetryTime: 500, factor: 0.2, multiplier: 1.5 },
    logLevel: log?.isLevelEnabled('debug') ? logLevel.INFO : logLevel.WARN,
    logCreator: () => kafkaLog(log),
    ...(socketFactory && { socketFactory }),
  });
}
