import type { Resolvers } from './generated/resolvers.ts';

/** The subgraph's root fields, each one use case. */
export const resolvers: Resolvers = {
  Query: {
    isRegisterable: (_, input, { app }) => app.isRegisterable(input),
    getAuthProfile: (_, __, { app, caller }) => app.getAuthProfile(caller),
    myTenant: (_, __, { app, caller }) => app.myTenant(caller),
    avatarConfig: (_, __, { app, caller }) => app.getAvatarConfig(caller),
  },

  Mutation: {
    login: (_, { input }, { app, caller, gone }) => app.login(caller, input, gone),
    refreshToken: (_, { input }, { app, gone }) => app.refreshSignIn(input, gone),
    register: (_, { input, token }, { app, caller, gone }) => app.register(caller, input, token ?? null, gone),
    changePassword: (_, { input }, { app, caller, gone }) => app.changePassword(caller, input, gone),
    createTenant: (_, { input }, { app, caller, gone }) => app.createTenant(caller, input, gone),
    updateTenant: (_, { input }, { app, caller, gone }) => app.updateTenant(caller, input, gone),
    deleteTenant: (_, __, { app, caller, gone }) => app.deleteTenant(caller, gone),
    generateApiKey: (_, __, { app, caller, gone }) => app.generateApiKey(caller, gone),
    upsertAvatarConfig: (_, { input }, { app, caller, gone }) => app.upsertAvatarConfig(caller, input, gone),
  },
};
