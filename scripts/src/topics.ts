import { topicsCommand } from '@parley/commands/topics-command';
import { topics } from '@parley/units';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Creates the Kafka topics of all events, and a dead-letter topic for each; prints what it created.

  scripts/topics [--replication N]

  --replication N   copies of each partition; default 3, at most the number of brokers
  KAFKA_BROKERS     host:port of one or more brokers, separated by commas

The services' src/declaration.ts declare partitions and retention. Existing topics get the declared retention. Their
partitions and copies are not changed; differences are reported. The command can be repeated.
`;

const { replication } = readOptions(usage, { replication: { type: 'string' } });
await attempt(() => topicsCommand(topics, process.env, console.log, replication));
