import { changePassword } from './change-password.ts';
import { createTenant } from './create-tenant.ts';
import { deleteTenant } from './delete-tenant.ts';
import { generateApiKey } from './generate-api-key.ts';
import { getAuthProfile } from './get-auth-profile.ts';
import { getAvatarConfig } from './get-avatar-config.ts';
import { getJwks } from './get-jwks.ts';
import { getTenant } from './get-tenant.ts';
import { isRegisterable } from './is-registerable.ts';
import { login } from './login.ts';
import { myTenant } from './my-tenant.ts';
import type { Ports } from './ports.ts';
import { refreshSignIn } from './refresh-sign-in.ts';
import { register } from './register.ts';
import { resolveApiKey } from './resolve-api-key.ts';
import { resolveSignIn, resolveSignIns } from './resolve-sign-in.ts';
import { rotateSigningKey } from './rotate-signing-key.ts';
import { updateTenant } from './update-tenant.ts';
import { upsertAvatarConfig } from './upsert-avatar-config.ts';

/** Every use case of identity, bound to its ports. */
export type App = ReturnType<typeof createApp>;

export function createApp(ports: Ports) {
  function bound<Input extends unknown[], Answer>(useCase: (ports: Ports, ...input: Input) => Answer) {
    return (...input: Input): Answer => useCase(ports, ...input);
  }
  return {
    register: bound(register),
    login: bound(login),
    refreshSignIn: bound(refreshSignIn),
    isRegisterable: bound(isRegisterable),
    getAuthProfile: bound(getAuthProfile),
    changePassword: bound(changePassword),
    myTenant: bound(myTenant),
    createTenant: bound(createTenant),
    updateTenant: bound(updateTenant),
    deleteTenant: bound(deleteTenant),
    generateApiKey: bound(generateApiKey),
    getAvatarConfig: bound(getAvatarConfig),
    upsertAvatarConfig: bound(upsertAvatarConfig),
    getJwks: bound(getJwks),
    resolveSignIn: bound(resolveSignIn),
    resolveSignIns: bound(resolveSignIns),
    resolveApiKey: bound(resolveApiKey),
    getTenant: bound(getTenant),
    rotateSigningKey: bound(rotateSigningKey),
  };
}
