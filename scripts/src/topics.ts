import { topicsCommand } from '@parley/commands/topics-command';
import { topics } from '@parley/units';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Creates the Kafka topics of all events, each with its dead-letter topic, and prints what it did.

  scripts/topics [--replication N]

  --replication N   copies of each partition; default 3, or as many as there are brokers
  KAFKA_BROKERS     host:port of one broker or more, separated by commas

Partitions and retention are declared in the services' src/declaration.ts. Existing topics get the declared retention; their
partitions and replicas are not changed, and differences are reported. Idempotent.
`;

const { replication } = readOptions(usage, { replication: { type: 'string' } });
await attempt(() => topicsCommand(topics, process.env, console.log, replication));
