import type { Logger } from '@parley/kernel/telemetry/log';
import { type LogEntry, logLevel } from 'kafkajs';

/**
 * Messages of ordinary rebalances, and messages that repeat during an outage. kafkajs logs them as errors; the bus itself logs the
 * consequence once.
 */
const ordinary =
  /rebalanc|not aware of this member|generation id|connection|connect |disconnect|broker|coordinator|leader/i;

/** Forwards the messages of kafkajs to our log, one level lower than kafkajs reports them. */
export function kafkaLog(log: Logger | undefined): (entry: LogEntry) => void {
  return ({ namespace, level, log: entry }) => {
    const { message, error, groupId, memberId, broker, topic, retryCount } = entry;
    const text = `${message} ${error ?? ''}`;
    const facts = { namespace, error, groupId, memberId, broker, topic, retryCount };
    log?.[ordinary.test(text) ? 'debug' : levelBelow(level)]({ kafka: facts }, message);
  };
}

function levelBelow(level: logLevel): 'warn' | 'info' | 'debug' {
  if (level === logLevel.ERROR) return 'warn';
  return level === logLevel.WARN ? 'info' : 'debug';
}
