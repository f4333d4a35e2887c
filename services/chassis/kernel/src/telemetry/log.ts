import { trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { logSettings } from '../settings/shared-settings.ts';
import { fileOutput } from './file-output.ts';
import { lineOutput } from './line-output.ts';
import { currentRequestId } from './request-context.ts';

export type { Logger } from 'pino';

const outputs = new Map<string, DestinationStream>();

function outputTo(file = ''): DestinationStream {
  const output = outputs.get(file) ?? (file ? fileOutput(file) : lineOutput(process.stdout));
  outputs.set(file, output);
  return output;
}

/**
 * Writes JSON lines to standard output. Each line has the unit's name, and inside a request its trace and request id. `LOG_LEVEL` is the
 * lowest level (default `info`); `LOG_FILE` appends to a file instead. Never log message text, prompts, tokens or secrets.
 * @throws SettingsError when `LOG_FILE` cannot be opened.
 */
export function createLogger(unit: string, { LOG_LEVEL, LOG_FILE: file } = process.env): Logger {
  const options: LoggerOptions = {
    level: logSettings.level.type.safeParse(LOG_LEVEL || undefined).data ?? 'info', // a wrong level is reported when the settings are read
    base: { unit },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    mixin: () => {
      const span = trace.getActiveSpan()?.spanContext();
      const requestId = currentRequestId();
      return { ...(span && { traceId: span.traceId, spanId: span.spanId }), ...(requestId && { requestId }) };
    },
    // These fields are redacted in case code logs the headers of a request.
    redact: [
      'authorization',
      '*.authorization',
      'headers["x-api-key"]',
      'headers.authorization',
      'password',
      '*.password',
    ],
  };
  return pino(options, outputTo(file));
}
