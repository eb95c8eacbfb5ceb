# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a class of three hundred submissions of stage 5 three times, as class_many.py describes.

LAB_CLASS sets another size. python -m tests.class_many FOLDER does the same, and continues an
interrupted run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests import class_many, class_servers
from tests.sandbox_calls import needs_sandbox

SIZE = int(os.environ.get("LAB_CLASS", "300"))


@needs_sandbox
@pytest.mark.skipif(not shutil.which("parallel"), reason="no GNU parallel")
@pytest.mark.skipif(not class_servers.THERE, reason="no ssh server")
@pytest.mark.machine
@pytest.mark.long
@pytest.mark.timeout(12 * 3600)
def test_each_has_what_it_must_have(tmp_path: Path) -> None:
    class_many.run(tmp_path, SIZE)
