import { credentialsChanged } from '@parley/protos/announcements';
import type { ListedUnit } from '@parley/units';

/** Commands and names that units need in Redis. `*` in names stands for variable parts, such as ids. */
export interface RedisNeeds {
  /** The needed commands by key pattern. */
  keys: Record<string, readonly KeyCommand[]>;
  /** The channels that units publish to or subscribe to. */
  channels: string[];
}

export type KeyCommand = keyof typeof harmless;

/** Arguments with which a command has no effect if the key does not exist. */
const harmless = {
  GET: [],
  PTTL: [],
  SET: ['', 'PX', '1', 'XX'],
  DEL: [],
  INCRBY: ['no number'],
  DECRBY: ['no number'],
  PEXPIRE: ['1'],
  XADD: ['NOMKSTREAM', '*', 'field', 'value'],
  XLEN: [],
  XRANGE: ['-', '+', 'COUNT', '1'],
  XREVRANGE: ['+', '-', 'COUNT', '1'],
  XTRIM: ['MAXLEN', '1'],
} as const;

export function harmlessly(command: KeyCommand, key: string): [string, ...string[]] {
  return [command, key, ...harmless[command]];
}

const counting = ['GET', 'PTTL', 'SET', 'INCRBY'] as const;
const logging = ['XADD', 'XLEN', 'XRANGE', 'XREVRANGE', 'XTRIM', 'PEXPIRE', 'DEL'] as const;

const keysOf: Record<string, RedisNeeds['keys'] | undefined> = {
  gateway: { 'parley:throttle:*:*': counting, 'parley:known-network:*': ['GET', 'SET'] },
  identity: {
    'parley:login-tries:*': [...counting, 'DECRBY', 'DEL'],
    'parley:login-failures:*': [...counting, 'DEL'],
    'parley:login-lock:*': ['GET', 'SET', 'DEL'],
    'parley:login-told:*': ['SET'],
  },
  agent: { 'parley:*:text-generation:*': logging, 'parley:agent:avatar-models': ['GET', 'SET'] },
  action: {
    'parley:*:action:*:messaging-token': ['GET', 'SET', 'DEL'],
    'parley:*:action:*:messaging-token:lock': ['SET', 'DEL'],
  },
  session: { 'parley:*:session:*:events': logging },
  voice: { 'parley:voice-throttle:*:*': counting, 'parley:*:voice-throttle:*': counting },
};

/** The units that publish or receive announcements of revoked credentials. */
const announcing = ['gateway', 'identity', 'session', 'evaluation'];

export function redisNeeds(units: readonly Pick<ListedUnit, 'name' | 'schema'>[]): RedisNeeds {
  const keys = Object.assign({}, ...units.map(({ name }) => keysOf[name] ?? {})) as RedisNeeds['keys'];
  const logs = Object.keys(keys).filter((name) => keys[name] === logging);
  const jobs = units.flatMap(({ schema }) => (schema ? [`parley:jobs:${schema.name}:*:cancelled`] : []));
  const announces = units.some(({ name }) => announcing.includes(name));
  return {
    keys,
    channels: [
      ...logs.map((stream) => `${stream}:appended`),
      ...jobs,
      ...(announces ? [credentialsChanged.channel] : []),
    ],
  };
}
