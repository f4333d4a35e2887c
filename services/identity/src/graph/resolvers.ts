import { scalars } from '@parley/chassis/graph/scalars';
import type { CreateTenantInput } from '../create-tenant.ts';
import type { SignInInput } from '../login.ts';
import type { SecuredToken } from '../register.ts';
import type { RegisterInput } from '../registration.ts';
import type { UpdateTenantInput } from '../update-tenant.ts';
import type { UpsertAvatarConfigInput } from '../upsert-avatar-config.ts';
import type { IdentityContext } from './context.ts';

interface Input<T> {
  input: T;
}

/** The subgraph's root fields, each one use case. */
export const resolvers = {
  DateTime: scalars.DateTime,
  JSONObject: scalars.JSONObject,

  Query: {
    isRegisterable: (_: unknown, input: { email: string; idNo?: string | null }, { app }: IdentityContext) =>
      app.isRegisterable(input),
    getAuthProfile: (_: unknown, __: unknown, { app, caller }: IdentityContext) => app.getAuthProfile(caller),
    myTenant: (_: unknown, __: unknown, { app, caller }: IdentityContext) => app.myTenant(caller),
    avatarConfig: (_: unknown, __: unknown, { app, caller }: IdentityContext) => app.getAvatarConfig(caller),
  },

  Mutation: {
    login: (_: unknown, { input }: Input<SignInInput>, { app, caller, gone }: IdentityContext) =>
      app.login(caller, input, gone),
    refreshToken: (_: unknown, { input }: Input<{ refreshToken: string }>, { app, gone }: IdentityContext) =>
      app.refreshSignIn(input, gone),
    register: (
      _: unknown,
      { input, token }: Input<RegisterInput> & { token?: SecuredToken | null },
      { app, caller, gone }: IdentityContext,
    ) => app.register(caller, input, token ?? null, gone),
    changePassword: (_: unknown, { input }: Input<{ newPassword: string }>, { app, caller, gone }: IdentityContext) =>
      app.changePassword(caller, input, gone),
    createTenant: (_: unknown, { input }: Input<CreateTenantInput>, { app, caller, gone }: IdentityContext) =>
      app.createTenant(caller, input, gone),
    updateTenant: (_: unknown, { input }: Input<UpdateTenantInput>, { app, caller, gone }: IdentityContext) =>
      app.updateTenant(caller, input, gone),
    deleteTenant: (_: unknown, __: unknown, { app, caller, gone }: IdentityContext) => app.deleteTenant(caller, gone),
    generateApiKey: (_: unknown, __: unknown, { app, caller, gone }: IdentityContext) =>
      app.generateApiKey(caller, gone),
    upsertAvatarConfig: (
      _: unknown,
      { input }: Input<UpsertAvatarConfigInput>,
      { app, caller, gone }: IdentityContext,
    ) => app.upsertAvatarConfig(caller, input, gone),
  },
};
