import type { Logger } from '@parley/kernel/telemetry/log';
import { FIRST_EVENT_ID } from '@parley/live/event-log/event-id';
import type { EventLog } from '@parley/live/event-log/event-log';
import { retryWhileUnavailable } from '@parley/live/subscriptions/retry-while-unavailable';
import { type TextGenerationEnd, TextGenerationLogEntry } from '@parley/protos/parley/agent/v1/event_log';

export interface TextGeneration {
  tenantId: number;
  requestId: string;
}

/**
 * Writes the events of one generation, for subscribers on all replicas. While the event log is unavailable, text is
 * lost, but the final event is retried.
 */
export function textGenerationLog(eventLog: EventLog, generation: TextGeneration, log: Pick<Logger, 'warn'>) {
  const { requestId } = generation;
  let isAvailable = true;

  async function append(text: string, end?: TextGenerationEnd): Promise<void> {
    await eventLog.append(streamOf(generation), [TextGenerationLogEntry.encode({ text, end }).finish()]);
  }

  return {
    async append(text: string): Promise<void> {
      try {
        await append(text);
      } catch (error) {
        if (isAvailable) log.warn({ err: error, requestId }, 'event log append failed; text not streamed');
        isAvailable = false;
      }
    },

    async hasEnded(): Promise<boolean> {
      for (let after = FIRST_EVENT_ID; ; ) {
        const { entries } = await eventLog.read(streamOf(generation), { after });
        const last = entries.at(-1);
        if (last === undefined) return false;
        if (entries.some(({ data }) => TextGenerationLogEntry.decode(data).end)) return true;
        after = last.id;
      }
    },

    async end(end: TextGenerationEnd): Promise<void> {
      try {
        await append('', end);
      } catch (error) {
        log.warn({ err: error, requestId }, 'event log append failed; will retry');
        await retryWhileUnavailable(() => append('', end));
      }
    },
  };
}

export function streamOf({ tenantId, requestId }: TextGeneration): string {
  return `parley:${tenantId}:text-generation:${requestId}`;
}
