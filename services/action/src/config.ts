import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { checkOperatorKey } from '@parley/kernel/settings/operator-key';
import { byteCount, leaseMs, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import {
  fetchedUrl,
  idpOneSettings,
  operatorKeySetting,
  outboundSettings,
  portSettings,
  secretsKeysSetting,
} from '@parley/kernel/settings/shared-settings';
import { certifiedOperationsFile } from './certified-operations.ts';

export const actionSettings = {
  secretsKeys: secretsKeysSetting,
  operatorKey: operatorKeySetting,
  limits: {
    callMs: setting(
      'ACTION_CALL_MS',
      positiveInt.default(30_000),
      'Maximum time of one call of a tool or custom action, including its wait in the queue.',
    ),
    answerBytes: setting(
      'ACTION_ANSWER_BYTES',
      byteCount.default(1_048_576),
      'Maximum size of the answer to one call. A custom action with a larger answer fails with `REMOTE_TOO_LARGE`; a larger result of a tool is cut.',
    ),
    heldBytes: setting(
      'ACTION_HELD_BYTES',
      byteCount.default(134_217_728),
      'Maximum memory of one process for answers of remote servers to running calls and to requests for tool lists. Above this limit, calls and tool lists of tenants with more than an equal share fail with `REMOTE_TOO_LARGE`.',
    ),
    heldTenantBytes: setting(
      'ACTION_HELD_TENANT_BYTES',
      byteCount.default(33_554_432),
      'Maximum memory of one process for answers of remote servers to running calls of one tenant and to its requests for tool lists. Above this limit, calls and tool lists of the tenant fail with `REMOTE_TOO_LARGE`.',
    ),
    keptBytes: setting(
      'ACTION_KEPT_BYTES',
      byteCount.default(268_435_456),
      'Maximum size of the calls of one tenant that are kept for 24 hours. Above this limit, results are kept without bodies of more than 4,096 characters.',
    ),
    listKeptMs: setting(
      'ACTION_TOOL_LIST_KEPT_MS',
      positiveInt.default(60_000),
      "Time for which a connector's list of tools is kept before the connector's server is asked again.",
    ),
    describeMs: setting(
      'ACTION_DESCRIBE_MS',
      positiveInt.default(3_500),
      'Maximum time that a turn waits for the tool lists of its connectors. The turn continues without the tools of connectors that have not answered.',
    ),
    callsAtOnce: setting(
      'ACTION_CALLS_AT_ONCE',
      positiveInt.default(1_024),
      'Maximum number of concurrent calls of tools and custom actions in one process; most of them wait for an answer. Further calls wait in a queue that is fair by tenant.',
    ),
    callsPerTenant: setting(
      'ACTION_CALLS_PER_TENANT',
      positiveInt.default(24),
      'Maximum number of concurrent calls of tools and custom actions of one tenant in one process. Further calls wait.',
    ),
    callsPerTarget: setting(
      'ACTION_CALLS_PER_TARGET',
      positiveInt.default(8),
      'Maximum number of concurrent calls to one connector, or of one custom action, in one process. Further calls wait.',
    ),
    callsWaiting: setting(
      'ACTION_CALLS_WAITING',
      positiveInt.default(512),
      'Maximum number of calls of one tenant that wait in one process. A further call fails with `TOO_MANY_CALLS`.',
    ),
    connectors: setting(
      'ACTION_MAX_CONNECTORS',
      positiveInt.default(100),
      'Maximum number of connectors of one tenant. A further connector is refused with `BAD_REQUEST`.',
    ),
    actions: setting(
      'ACTION_MAX_ACTIONS',
      positiveInt.default(500),
      'Maximum number of custom actions of one tenant. A further custom action is refused with `BAD_REQUEST`.',
    ),
    logDays: setting(
      'ACTION_LOG_DAYS',
      positiveInt.default(30),
      'Number of days for which a tenant can see its past calls of tools and custom actions.',
    ),
    leaseMs: setting(
      'ACTION_LEASE_MS',
      leaseMs.default(15_000),
      'Time after which a call of a tool or custom action fails with `CALL_INTERRUPTED` if the process that makes the call no longer renews its lease.',
    ),
  },
  messaging: {
    china: setting(
      'MESSAGING_URL_CN',
      fetchedUrl.optional(),
      "Base URL of the messaging product for the region `REGION_CN`. An app's credentials are exchanged for a token there.",
      { without: 'custom actions with messaging credentials of this region fail with `CREDENTIAL_UNAVAILABLE`' },
    ),
    international: setting(
      'MESSAGING_URL_INTL',
      fetchedUrl.optional(),
      "Base URL of the messaging product for the region `REGION_INTL`. An app's credentials are exchanged for a token there.",
      {
        without: 'custom actions with messaging credentials of this region fail with `CREDENTIAL_UNAVAILABLE`',
      },
    ),
  },
  idpOne: idpOneSettings,
  certifiedOperations: setting(
    'CERTIFIED_OPERATIONS_FILE',
    certifiedOperationsFile,
    'JSON file with the catalogue that `certifiedOperations` returns: a list of objects with `key`, `name`, `description`, `method`, `url`, `argsSchema`, `compatibleCredentialSources`.',
    { without: 'an empty catalogue' },
  ),
  maxAnswerBytes: setting(
    'ACTION_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Maximum size of one answer of the subgraph; a larger answer fails with `BAD_REQUEST` (`ANSWER_TOO_LARGE`).',
  ),
  outbound: outboundSettings,
  ...portSettings('action', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type ActionConfig = ValuesOf<typeof actionSettings>;
export type ActionLimits = ActionConfig['limits'];

export function readActionConfig(env: Environment): ActionConfig {
  const config = readSettings(env, actionSettings);
  checkOperatorKey(env, config.operatorKey);
  return config;
}
