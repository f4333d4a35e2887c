import { apiUsageBreakdown, apiUsageSummary } from '../api-usage-summary.ts';
import { bindTwoFactor } from '../bind-two-factor.ts';
import { changePassword } from '../change-password.ts';
import { createTenant } from '../create-tenant.ts';
import { deleteTenant } from '../delete-tenant.ts';
import { forgotPasswordWithOtp } from '../forgot-password-with-otp.ts';
import { generateApiKey } from '../generate-api-key.ts';
import { generateOtp } from '../generate-otp.ts';
import { generateTwoFactor } from '../generate-two-factor.ts';
import { getAuthProfile } from '../get-auth-profile.ts';
import { getAvatarConfig } from '../get-avatar-config.ts';
import { isRegisterable } from '../is-registerable.ts';
import { linkIdentity } from '../link-identity.ts';
import { login } from '../login.ts';
import { loginWithIdpOne } from '../login-with-idp-one.ts';
import { myTenant } from '../my-tenant.ts';
import { myTenants } from '../my-tenants.ts';
import { refreshSignIn } from '../refresh-sign-in.ts';
import { register } from '../register.ts';
import { resetUserPasswordWithUrl } from '../reset-user-password-with-url.ts';
import { setPrimaryBillingAccount } from '../set-primary-billing-account.ts';
import { switchTenant } from '../switch-tenant.ts';
import { unbindTwoFactor } from '../unbind-two-factor.ts';
import { unlinkIdentity } from '../unlink-identity.ts';
import { updateTenant } from '../update-tenant.ts';
import { upsertAvatarConfig } from '../upsert-avatar-config.ts';
import { validateSecuredToken } from '../validate-secured-token.ts';
import { verifyTwoFactor } from '../verify-two-factor.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    isRegisterable: (_, input, { ports }) => isRegisterable(ports, input),
    getAuthProfile: (_, __, { ports, caller }) => getAuthProfile(ports, caller),
    myTenant: (_, __, { ports, caller }) => myTenant(ports, caller),
    myTenants: (_, __, { ports, caller, answer }, info) => myTenants(answer.reading(ports, info), caller),
    apiUsageSummary: (_, __, { ports, caller }) => apiUsageSummary(ports, caller),
    avatarConfig: (_, __, { ports, caller }) => getAvatarConfig(ports, caller),
  },

  Mutation: {
    login: (_, { input }, { ports, caller, gone }) => login(ports, caller, input, gone),
    refreshToken: (_, { input }, { ports, gone }) => refreshSignIn(ports, input, gone),
    register: (_, { input, token }, { ports, caller, gone }) => register(ports, caller, input, token ?? null, gone),
    generateOTP: (_, { input }, { ports, gone }) => generateOtp(ports, input, gone),
    validateSecuredToken: (_, { input }, { ports, gone }) => validateSecuredToken(ports, input, gone),
    resetUserPasswordWithUrl: (_, { input }, { ports, gone }) => resetUserPasswordWithUrl(ports, input, gone),
    forgotPasswordWithOTP: (_, { input }, { ports, caller, gone }) => forgotPasswordWithOtp(ports, caller, input, gone),
    loginWithIdpOne: (_, given, { ports, caller, gone }) => loginWithIdpOne(ports, caller, given, gone),
    linkIdentity: (_, given, { ports, caller, gone }) => linkIdentity(ports, caller, given, gone),
    unlinkIdentity: (_, given, { ports, caller, gone }) => unlinkIdentity(ports, caller, given, gone),
    changePassword: (_, { input }, { ports, caller, gone }) => changePassword(ports, caller, input, gone),
    setPrimaryBillingAccount: (_, input, { ports, caller, gone }) =>
      setPrimaryBillingAccount(ports, caller, input, gone),
    generateTwoFactor: (_, __, { ports, caller, gone }) => generateTwoFactor(ports, caller, gone),
    bindTwoFactor: (_, { input }, { ports, caller, gone }) => bindTwoFactor(ports, caller, input, gone),
    verifyTwoFactor: (_, input, { ports, caller, gone }) => verifyTwoFactor(ports, caller, input, gone),
    unbindTwoFactor: (_, { input }, { ports, caller, gone }) => unbindTwoFactor(ports, caller, input, gone),
    createTenant: (_, { input }, { ports, caller, gone }) => createTenant(ports, caller, input, gone),
    updateTenant: (_, { input }, { ports, caller, gone }) => updateTenant(ports, caller, input, gone),
    deleteTenant: (_, __, { ports, caller, gone }) => deleteTenant(ports, caller, gone),
    switchTenant: (_, input, { ports, caller, gone }) => switchTenant(ports, caller, input, gone),
    generateApiKey: (_, __, { ports, caller, gone }) => generateApiKey(ports, caller, gone),
    upsertAvatarConfig: (_, { input }, { ports, caller, gone }) => upsertAvatarConfig(ports, caller, input, gone),
  },

  ApiUsageSummaryDto: {
    costThisMonthUsd: ({ spentUsd }) => spentUsd,
    monthlySpendCapUsd: ({ capUsd }) => capUsd,
    breakdown: (_, __, { ports, answer, caller }, info) => apiUsageBreakdown(answer.reading(ports, info), caller),
  },
};
