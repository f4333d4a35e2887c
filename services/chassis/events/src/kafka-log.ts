import type { Logger } from '@parley/kernel/log';
import { type LogEntry, logLevel } from 'kafkajs';

/**
 * What belongs to the life of a group, or repeats for as long as a broker is away: kafkajs calls all of it errors. The
 * bus says by itself, once, what it means: events that wait, a consumer that begins anew.
 */
const ordinary =
  /rebalanc|not aware of this member|generation id|connection|connect |disconnect|broker|coordinator|leader/i;

/** Passes on what kafkajs says, one level quieter than it says it. */
export function kafkaLog(log: Logger | undefined): (entry: LogEntry) => void {
  return ({ namespace, level, log: said }) => {
    const { message, error, groupId, memberId, broker, topic, retryCount } = said;
    const text = `${message} ${error ?? ''}`;
    const facts = { part: namespace, error, groupId, memberId, broker, topic, retryCount };
    log?.[ordinary.test(text) ? 'debug' : quieter(level)]({ kafka: facts }, message);
  };
}

function quieter(level: logLevel): 'warn' | 'info' | 'debug' {
  if (level === logLevel.ERROR) return 'warn';
  return level === logLevel.WARN ? 'info' : 'debug';
}
