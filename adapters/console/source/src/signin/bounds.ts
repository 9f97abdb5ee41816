/** How many characters a password has. The service checks it; a test compares the two. */
export const PASSWORD_LENGTH = { shortest: 8, longest: 128 };
