# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The smallest elective, as an example to copy: two functions in a module. See CONTRIBUTING.md."""
