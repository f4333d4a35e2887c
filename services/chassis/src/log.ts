import { trace } from '@opentelemetry/api';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { currentRequestId } from './request-context.ts';

export type { Logger } from 'pino';

/**
 * JSON lines on standard output, each with the unit's name and, inside a request, its trace and request id.
 * `LOG_LEVEL` sets how much (default `info`), `LOG_FILE` appends them to a file instead. Never log message text, prompts,
 * tokens or secrets.
 */
export function createLogger(unit: string, { LOG_LEVEL: level = 'info', LOG_FILE: file } = process.env): Logger {
  const options: LoggerOptions = {
    level,
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
  return file ? pino(options, pino.destination({ dest: file, mkdir: true, mode: 0o600 })) : pino(options);
}
