import { port, text } from '@parley/kernel/settings/setting-types';
import { setting } from '@parley/kernel/settings/settings';
import { serversFolderSetting, serversHostSetting } from '@parley/kernel/settings/shared-settings';

/** The settings of `scripts/talk`. */
export const talkSettings = {
  url: setting('PARLEY_URL', text.default('http://localhost:4000/graphql'), 'The GraphQL endpoint of `talk`.'),
  email: setting('PARLEY_EMAIL', text.default(''), 'The account that `talk` signs in with.', {
    without: 'a new account is registered',
  }),
  apiKey: setting('PARLEY_API_KEY', text.default(''), 'The API key that `talk --embed` starts sessions with.', {
    secret: true,
    without: 'one is made for a throw-away account',
  }),
  password: setting('PARLEY_PASSWORD', text.default(''), 'Its password.', { secret: true, without: 'none' }),
};

/** The settings of the demo page of `scripts/up`. */
export const demoSettings = {
  port: setting(
    'DEMO_PORT',
    port.default(4300),
    'The port of the demo page of `up`, in development; one that is taken is replaced by a free one.',
  ),
};

/** The settings that only commands read. */
export const commandSettings = {
  talk: talkSettings,
  demo: demoSettings,
  serversFolder: serversFolderSetting,
  serversHost: serversHostSetting,
  contractFolder: setting(
    'PARLEY_CONTRACT_DIR',
    text.default('../shared/contract'),
    'The folder of the contract that `test` compares the API and `gateway/contract.json` with. Where it is absent, the API is compared with `gateway/contract.json` alone.',
  ),
  faultLogs: setting(
    'PARLEY_FAULT_LOGS',
    text.optional(),
    'A folder in which fault tests keep the logs of all processes.',
    { without: 'they are removed' },
  ),
  upgradeFrom: setting(
    'PARLEY_UPGRADE_FROM',
    text.optional(),
    'The commit, e.g. the tag of a release, that the fault test of upgrades begins with and goes back to.',
    { without: 'the release before; until then the state before the last migration, or the last cut of the protos' },
  ),
};
