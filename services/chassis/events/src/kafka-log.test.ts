import test from 'ava';
import { type LogEntry, logLevel } from 'kafkajs';
import { pino } from 'pino';
import { kafkaLog } from './kafka-log.ts';

function logged(entries: [level: logLevel, message: string, facts?: object][]) {
  const lines: { level: number; msg: string; kafka: object }[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  for (const [level, message, facts] of entries) {
    const entry: LogEntry = {
      namespace: 'Runner',
      level,
      label: '',
      log: { timestamp: '', logger: 'kafkajs', message, ...facts },
    };
    kafkaLog(log)(entry);
  }
  return lines.map(({ level, msg }) => [pino.levels.labels[level], msg]);
}

test('ordinary rebalances and reconnections are logged at debug', (t) => {
  t.deepEqual(
    logged([
      [
        logLevel.ERROR,
        'Response Heartbeat(key: 12, version: 3)',
        { error: 'The group is rebalancing, so a rejoin is needed' },
      ],
      [logLevel.ERROR, 'The coordinator is not aware of this member, re-joining the group'],
      [logLevel.ERROR, 'Connection error: connect ECONNREFUSED 127.0.0.1:9092'],
    ]).map(([level]) => level),
    ['debug', 'debug', 'debug'],
  );
});

test('other messages are logged one level below that of kafkajs', (t) => {
  t.deepEqual(
    logged([
      [logLevel.ERROR, 'Offset out of range'],
      [logLevel.WARN, 'something odd'],
      [logLevel.INFO, 'Starting'],
    ]),
    [
      ['warn', 'Offset out of range'],
      ['info', 'something odd'],
      ['debug', 'Starting'],
    ],
  );
});
