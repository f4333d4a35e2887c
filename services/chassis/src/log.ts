import { trace } from '@opentelemetry/api';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { z } from 'zod';
import { currentRequestId } from './request-context.ts';

export type { Logger } from 'pino';

/** The setting LOG_LEVEL. */
export const logLevel = z
  .enum(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'is none of trace, debug, info, warn, error, fatal and silent',
  )
  .default('info');

/**
 * JSON lines on standard output, each with the unit's name and, inside a request, its trace and request id.
 * `LOG_LEVEL` sets how much (default `info`), `LOG_FILE` appends them to a file instead. Never log message text, prompts,
 * tokens or secrets.
 */
export function createLogger(unit: string, { LOG_LEVEL, LOG_FILE: file } = process.env): Logger {
  const options: LoggerOptions = {
    level: logLevel.safeParse(LOG_LEVEL || undefined).data ?? 'info', // a wrong one is told where settings are read
    base: { unit },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext();
      const requestId = currentRequestId();
      return { ...(span && { traceId: span.traceId, spanId: span.spanId }), ...(requestId && { requestId }) };
    },
    // The credentials of a request must not reach the log by way of a logged header map.
    redact: [
      'authorization',
      '*.authorization',
      'headers["x-api-key"]',
      'headers.authorization',
      'password',
      '*.password',
    ],
  };
  // Written at once: what a process logs just before it is killed matters most. What pino does by default, to write later and the
  // rest at the exit, also never ends where the reader of the log is gone: it tries again without end.
  const where = file ? { dest: file, mkdir: true, mode: 0o600 } : { dest: 1 };
  return pino(options, pino.destination({ ...where, sync: true }));
}
