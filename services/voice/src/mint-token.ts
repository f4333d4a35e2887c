import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { readSettings } from '@parley/kernel/settings/config';
import { avatarTokenKeysSetting } from '@parley/kernel/settings/shared-settings';

// `node src/mint-token.ts [tenant]` prints an avatar token for trying the service, signed with AVATAR_TOKEN_KEYS.

const { keys } = readSettings(process.env, { keys: avatarTokenKeysSetting });
const { token } = createSessionTokens(keys).mint({ audience: 'voice', tenantId: Number(process.argv[2] ?? 1) });
process.stdout.write(`${token}\n`);
